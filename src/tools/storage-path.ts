/** `workspace_storage_path` (storage.md): declared here, run by the storage worker. */
import type { JsonObject } from '../protocol/json';
import { defineTool } from './tool';

/** The fields each mode needs (storage.md, Modes). A link's Storage may be left out: the link tells it. */
const NEEDED: Record<string, string[]> = {
  save_path: ['storage_id', 'path', 'token'],
  unseal_path: ['storage_id', 'path'],
  place_path: ['storage_id', 'path', 'token', 'revision'],
  remove_path: ['storage_id', 'path', 'token', 'expected_hash'],
  link_pull: ['link_id', 'path', 'token', 'revision'],
  link_push: ['link_id', 'token'],
  link_remove: ['link_id', 'path'],
  path_sync: ['storage_id', 'token', 'revision', 'paths'],
};

const text = (description: string): JsonObject => ({ type: 'string', minLength: 1, description });

export const workspaceStoragePath = defineTool<JsonObject>({
  name: 'workspace_storage_path',
  description:
    'Moves files between a Storage of the platform and its copy on this device. Use it to save what was edited here, to bring what was ' +
    'changed elsewhere, and to place, remove or link whole folders. The mode says what is done: save_path commits a path (with seal: true it is ' +
    'read-only here from then on), unseal_path lifts a seal, place_path brings a path that does not exist here, remove_path takes an unchanged ' +
    'path away, path_sync brings remote changes of some paths, link_pull, link_push and link_remove do the same for a linked folder. ' +
    'Returns the revision, and by mode sealed, hash, files, bytes, uploaded_bytes, unstable, kept, deferred, overwritten or recovered. ' +
    'Unsaved files on the device are never overwritten: they are listed in kept. Changes of others that cannot be brought here now, because of a seal ' +
    'or a name this device cannot hold, are listed in deferred. After an error everything is as it was before.',
  input_schema: {
    type: 'object',
    additionalProperties: false,
    required: ['mode'],
    properties: {
      mode: { enum: Object.keys(NEEDED), description: 'What to do.' },
      storage_id: text('The Storage, as workspace_info lists it. In link modes it may be left out.'),
      link_id: text('The link, in link modes.'),
      path: {
        type: 'string',
        description:
          'Relative to the root of the Storage, with / between names. "" is the root, for save_path only.',
      },
      token: text('The token of this job. It is used for this job only and never kept.'),
      revision: {
        type: ['string', 'number'],
        description: 'The revision to bring, as the platform gave it.',
      },
      seal: { type: 'boolean', description: 'With save_path: make the path read-only here. Default: false.' },
      seal_until: {
        type: ['string', 'number'],
        description:
          'When the seal ends: ISO 8601, or epoch seconds or milliseconds. Default: when it is unsealed.',
      },
      expected_hash: {
        type: 'string',
        pattern: '^[0-9a-f]{64}$',
        description: 'SHA-256 of the file or tree that is to be removed, in lowercase hex.',
      },
      paths: {
        type: 'array',
        items: { type: 'string' },
        description: 'The files or directories to bring, with path_sync.',
      },
    },
    allOf: Object.entries(NEEDED).map(([mode, required]) => ({
      if: { properties: { mode: { not: { const: mode } } } },
      else: { required, properties: Object.fromEntries(required.map((field) => [field, true])) },
    })),
  },
  class: 'files',
  read_only: false,
  resumable: true,
  os_action: 'storage.path',
  requires_confirmation: false,
  run: (input, context) => context.storage.run('workspace_storage_path', input, context),
});
