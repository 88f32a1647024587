/** Every file that is made from the registry: where it lies and what must stand in it. */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { TOOLS } from '../src/tools/registry';
import { osInterface } from './os-interface';
import { type ToolExamples, toolDocs } from './tool-docs';

const at = (path: string): string => fileURLToPath(new URL(`../${path}`, import.meta.url));

export const EXAMPLES_FILE = at('docs/tool-examples.json');

export function readExamples(): ToolExamples {
  return JSON.parse(readFileSync(EXAMPLES_FILE, 'utf8')) as ToolExamples;
}

export function generatedFiles(): { path: string; text: string }[] {
  return [
    { path: at('os-interface.json'), text: `${JSON.stringify(osInterface(TOOLS), null, 2)}\n` },
    { path: at('docs/tools.md'), text: toolDocs(TOOLS, readExamples()) },
  ];
}
