/** `file_list`, `file_stat`, `file_read_text`, `file_read_image`: what only looks. */
import { AgentError } from '../../protocol/errors';
import { DeviceView } from '../device-view';
import { isUnreadable } from '../foreign-errors';
import { isWithin, quote, relativeTo, requirePath } from '../paths';
import type { FileSnapshot } from '../ports';
import { activeSeals, isSealed } from '../seals';
import type { Session } from '../session';
import { notFound } from './checks';
import { hashOfAll, isUnsaved, standing } from './file-state';
import type { FileWork } from './file-tools';
import { IMAGE_HEAD_BYTES, imageType } from './image-type';
import { listing } from './listing';
import { readTextPiece, type TextPlace } from './read-text';

const ENTRIES_PER_ANSWER = 1000;
const LARGEST_IMAGE_BYTES = 64 * 1024 * 1024;

interface ListPlace {
  storage_id: string;
  path: string;
  recursive: boolean;
  /** The last path that was listed. */
  after: string;
}

export const listFiles: FileWork<{ path: string; recursive?: boolean; next?: ListPlace }> = async (
  { path, recursive = false, next },
  { session, signal },
) => {
  requirePath(path, 'root_allowed');
  const { storage_id } = session.storage;
  if (next) {
    requirePath(next.after, 'root_refused');
    const fits = next.storage_id === storage_id && next.path === path && next.recursive === recursive;
    if (!fits || next.after === path || !isWithin(next.after, path)) throw foreignNext();
  }
  const found = await new DeviceView(session.root, session.folds).look(path);
  if (found.kind === 'absent') throw notFound(path);
  if (found.kind === 'file') {
    throw new AgentError('path_not_found', `${quote(path)} is a file, not a directory.`);
  }
  const { entries, more } = await listing(found.handle, {
    prefix: path,
    recursive,
    after: next ? relativeTo(path, next.after) : null,
    limit: ENTRIES_PER_ANSWER,
    signal,
  });
  const last = entries.at(-1);
  const place = more && last ? { storage_id, path, recursive, after: last.path } : null;
  return { output: { entries: entries.map((entry) => ({ ...entry })), next: place } };
};

export const statFile: FileWork<{ path: string; hash?: boolean }> = async (
  { path, hash = false },
  { session, signal },
) => {
  requirePath(path, 'root_allowed');
  const found = await standing(session, path, signal);
  if (!found) throw notFound(path);
  const { record } = session;
  const file = found.kind === 'file' ? found.files[0]?.file : undefined;
  const isSealedHere = isSealed(activeSeals(record.seals, session.now()), path);
  const isGoneLink = record.links.some((link) => link.removed && isWithin(path, link.path));
  return {
    output: {
      path,
      type: found.kind,
      size: file?.size ?? null,
      modified_at: file ? new Date(file.lastModified).toISOString() : null,
      ...(hash && { sha256: await hashOfAll(session, path, found, signal) }),
      sealed: isSealedHere || isGoneLink,
      unsaved: await isUnsaved(session, path, found, signal),
    },
  };
};

/** What `file_read_text` gives as `next`. */
export interface TextNext extends TextPlace {
  storage_id: string;
  path: string;
}

export const readText: FileWork<{ path: string; next?: TextNext }> = async ({ path, next }, { session }) => {
  const file = await snapshotOf(session, path);
  const { storage_id } = session.storage;
  if (next && (next.storage_id !== storage_id || next.path !== path)) throw foreignNext();
  const piece = await readTextPiece(file, next ?? null).catch((thrown) => {
    throw isUnreadable(thrown)
      ? new AgentError('cursor_invalid', 'The file changed while it was read.')
      : thrown;
  });
  return {
    output: {
      path,
      text: piece.text,
      encoding: piece.encoding,
      size: file.size,
      modified_at: new Date(file.lastModified).toISOString(),
      next: piece.next && { storage_id, path, ...piece.next },
    },
  };
};

export const readImage: FileWork<{ path: string }> = async ({ path }, { session }) => {
  const file = await snapshotOf(session, path);
  const mime_type = imageType(new Uint8Array(await file.slice(0, IMAGE_HEAD_BYTES).arrayBuffer()));
  if (mime_type === null) {
    throw new AgentError('invalid_input', `${quote(path)} is no png, jpeg, webp or gif picture.`);
  }
  if (file.size > LARGEST_IMAGE_BYTES) throw new AgentError('output_too_large');
  // A copy: the file may change before the picture is sent.
  const blob = new Blob([await file.arrayBuffer()], { type: mime_type });
  return {
    output: { path, mime_type, size: file.size, modified_at: new Date(file.lastModified).toISOString() },
    attachments: [{ field: 'image', mime_type, blob }],
  };
};

async function snapshotOf(session: Session, path: string): Promise<FileSnapshot> {
  requirePath(path, 'root_refused');
  const found = await new DeviceView(session.root, session.folds).look(path);
  if (found.kind === 'file') return found.handle.getFile();
  if (found.kind === 'absent') throw notFound(path);
  throw new AgentError('path_not_found', `${quote(path)} is a directory, not a file. file_list lists it.`);
}

function foreignNext(): AgentError {
  return new AgentError('cursor_invalid', 'next belongs to another reading: start without it.');
}
