/** Chrome's own logs in a profile, cut as by a crash in the middle of a write. Only while no browser uses the profile. */
import { appendFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { EXTENSION_ID } from './agent-browser';

/** The LevelDBs of the extension, by what it keeps in them. */
export const LOGS = {
  databases: `Default/IndexedDB/chrome-extension_${EXTENSION_ID}_0.indexeddb.leveldb`,
  directories: 'Default/File System/000/t/Paths',
  settings: `Default/Local Extension Settings/${EXTENSION_ID}`,
} as const;

/** The head of a record, whose content never came. */
const HEAD = (() => {
  const head = Buffer.alloc(7);
  head.writeUInt32LE(0x12345678, 0);
  head.writeUInt16LE(1109, 4);
  head[6] = 1;
  return head;
})();

export function tearLog(profile: string, log: keyof typeof LOGS): void {
  appendFileSync(lastLog(profile, log), HEAD);
}

/** The file that Chrome writes to now. */
export function lastLog(profile: string, log: keyof typeof LOGS): string {
  const directory = join(profile, LOGS[log]);
  const last = readdirSync(directory)
    .filter((name) => /^\d+\.log$/.test(name))
    .sort()
    .at(-1);
  if (!last) throw new Error(`there is no log in ${directory}`);
  return join(directory, last);
}
