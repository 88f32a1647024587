/** Every tool of this kind of device, each declared once, in the order the catalogue shows them. */
import type { Tool } from './tool';

export const TOOLS: readonly Tool[] = [];

const byName = new Map(TOOLS.map((tool) => [tool.name, tool]));

/** The tool of that name, or undefined. */
export function findTool(name: string): Tool | undefined {
  return byName.get(name);
}
