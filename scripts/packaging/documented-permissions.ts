/** What docs/permissions.md says that the extension asks for: its names are the texts between backticks in the first cells. */
import { readFileSync } from 'node:fs';

/** @param path of docs/permissions.md */
export function documentedPermissions(path: string | URL): string[] {
  const rows = readFileSync(path, 'utf8').matchAll(/^\|([^|]*)\|/gm);
  return [...rows].flatMap(([, cell = '']) => [...cell.matchAll(/`([^`]+)`/g)].map(([, name = '']) => name));
}
