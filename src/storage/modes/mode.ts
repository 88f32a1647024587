/** What all modes share: their input and output, and the checks before any of them touches anything. */
import { AgentError } from '../../protocol/errors';
import type { JsonObject } from '../../protocol/json';
import type { Job } from '../job';
import { isWithin, quote, requirePath } from '../paths';
import type { Revision } from '../ports';
import type { LinkRecord, Session } from '../session';
import type { Transaction } from '../transaction';

export const STORAGE_PATH_MODES = [
  'save_path',
  'unseal_path',
  'place_path',
  'remove_path',
  'link_pull',
  'link_push',
  'link_remove',
  'path_sync',
] as const;

export type StoragePathMode = (typeof STORAGE_PATH_MODES)[number];

/** Input of `workspace_storage_path` (storage.md). Which fields a mode needs, the mode says. */
export interface StoragePathInput {
  mode: StoragePathMode;
  storage_id?: string;
  link_id?: string;
  path?: string;
  token?: string;
  revision?: Revision;
  seal?: boolean;
  seal_until?: string | number;
  expected_hash?: string;
  paths?: string[];
}

/** Finishes the transaction itself, at its end; throws `AgentError` or what the API throws, and is then undone. */
export type Mode = (
  session: Session,
  transaction: Transaction,
  input: StoragePathInput,
  job: Job,
) => Promise<JsonObject>;

type Field = 'path' | 'token' | 'revision' | 'expected_hash' | 'link_id';

/** Throws `invalid_input` naming the field the mode lacks. */
export function need<F extends Field>(input: StoragePathInput, field: F): NonNullable<StoragePathInput[F]> {
  const value = input[field];
  if (value === undefined || value === null) {
    throw new AgentError('invalid_input', `input lacks the field "${field}", which ${input.mode} needs.`);
  }
  return value;
}

/** The path of a mode on a Storage: legal, and not inside a link, whose content is another Storage's. */
export function needStoragePath(
  session: Session,
  input: StoragePathInput,
  root: 'root_allowed' | 'root_refused',
): string {
  const path = need(input, 'path');
  requirePath(path, root);
  if (session.record.links.some((link) => isWithin(path, link.path))) {
    throw new AgentError('path_invalid', `${quote(path)} lies in a link, which has modes of its own.`);
  }
  return path;
}

/** `link_unknown` when this device has no such link. */
export function needLink(session: Session, input: StoragePathInput): LinkRecord {
  const id = need(input, 'link_id');
  const link = session.record.links.find((other) => other.link_id === id);
  if (!link) throw new AgentError('link_unknown');
  return link;
}
