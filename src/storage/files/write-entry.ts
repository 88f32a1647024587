/** `file_write`: the content is written where nobody looks, verified, and then takes its place in one move. */
import { AgentError } from '../../protocol/errors';
import { DeviceView, ensureDirectory } from '../device-view';
import { ancestors, nameOf, parentOf, quote } from '../paths';
import { removeIfEmpty } from '../publish';
import type { Session } from '../session';
import { hex } from '../tree-hash';
import { writeVerified } from '../write-file';
import { exists, requireCreatable } from './checks';
import type { FileWork } from './file-tools';

export interface WriteInput {
  path: string;
  text?: string;
  base64?: string;
  overwrite?: boolean;
}

export const writeText: FileWork<WriteInput> = async (input, { session, transaction, signal }) => {
  const { path, overwrite = true } = input;
  const bytes = bytesOf(input);
  await requireCreatable(session, path);
  const view = new DeviceView(session.root, session.folds);
  const there = await view.look(path);
  if (there.kind === 'absent' && there.blocker !== null) throw exists(there.blocker);
  if (there.kind === 'directory' || (there.kind === 'file' && !overwrite)) throw exists(path);

  const expected = { size: bytes.length, sha256: hex(await crypto.subtle.digest('SHA-256', bytes)) };
  const name = transaction.newName('new');
  const temp = await transaction.tempFolder();
  const source = new Blob([bytes]).stream();
  if ((await writeVerified(temp, name, expected, source, signal)) === null) {
    throw new AgentError('storage_quota_exceeded', 'The content could not be written whole.');
  }
  await place(session, path, async (parent) => {
    await (await temp.getFileHandle(name)).move(parent, nameOf(path));
  });
  await transaction.finish([]);
  return { output: { path, ...expected } };
};

/** Makes the parents, then calls `move`; takes away again what was made when that fails. */
export async function place(
  session: Session,
  path: string,
  move: (parent: Awaited<ReturnType<typeof ensureDirectory>>) => Promise<void>,
): Promise<void> {
  const view = new DeviceView(session.root, session.folds);
  const made: string[] = [];
  for (const above of ancestors(path)) if ((await view.look(above)).kind === 'absent') made.push(above);
  try {
    await move(await ensureDirectory(session.root, parentOf(path)));
  } catch (thrown) {
    for (const above of made) await removeIfEmpty(session.root, above).catch(() => false);
    throw thrown;
  }
}

function bytesOf({ path, text, base64 }: WriteInput): Uint8Array<ArrayBuffer> {
  if (text !== undefined) return new TextEncoder().encode(text);
  try {
    const binary = atob(base64 ?? '');
    return Uint8Array.from(binary, (character) => character.charCodeAt(0));
  } catch {
    throw new AgentError('invalid_input', `input.base64 for ${quote(path)} is not base64.`);
  }
}
