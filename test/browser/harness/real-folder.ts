/**
 * A folder of the test machine that the extension may use without a prompt. Chrome's own questions cannot be answered
 * headless; so the answer a person would have given is in the profile before the browser starts.
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { EXTENSION_ORIGIN } from './agent-browser';
import type { CdpSession } from './cdp';

/** Chrome's own time, microseconds since 1601; any of the past will do. */
const THEN = '13440524141935363';

export class RealFolder {
  readonly path = mkdtempSync(join(tmpdir(), 'endue-folder-'));

  get name(): string {
    return basename(this.path);
  }

  remove(): void {
    rmSync(this.path, { recursive: true, force: true });
  }

  /** Drops it in the middle of a page, as a person does. */
  async dropOn(page: CdpSession, path = this.path): Promise<void> {
    const data = { items: [], files: [path], dragOperationsMask: 1 };
    for (const type of ['dragEnter', 'dragOver', 'drop']) {
      await page.send('Input.dispatchDragEvent', { type, x: 200, y: 200, data });
    }
  }
}

/** Writes the grants into a profile that was never started. `kept`: Allow on every visit. */
export function grantFolders(
  profile: string,
  folders: readonly RealFolder[],
  { kept }: { kept: boolean },
): void {
  const pattern = `${EXTENSION_ORIGIN}/,*`;
  const exceptions = {
    file_system_access_chooser_data: {
      [pattern]: {
        last_modified: THEN,
        setting: {
          'chosen-objects': folders.map(({ path, name }) => ({
            'display-name': name,
            'is-directory': true,
            path,
            readable: true,
            writable: true,
          })),
        },
      },
    },
    ...(kept && {
      file_system_access_extended_permission: { [pattern]: { last_modified: THEN, setting: 1 } },
    }),
  };
  mkdirSync(join(profile, 'Default'), { recursive: true });
  writeFileSync(
    join(profile, 'Default', 'Preferences'),
    // Safe Browsing asks the network about each file that is written, and waits for it.
    JSON.stringify({ profile: { content_settings: { exceptions } }, safebrowsing: { enabled: false } }),
  );
}
