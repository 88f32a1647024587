/** The file tools (tools.md, `file_*`): declared here, run by the storage worker, inside attached Storages only. */
import type { JsonObject } from '../protocol/json';
import { defineTool, type Tool } from './tool';

const STORAGE_ID: JsonObject = {
  type: 'string',
  minLength: 1,
  description: 'The Storage, as workspace_info lists it. It may be left out when exactly one is attached.',
};

const PATH: JsonObject = {
  type: 'string',
  description: 'Relative to the root of the Storage, with / between names.',
};

interface FileTool {
  name: string;
  os_action: string;
  description: string;
  read_only: boolean;
  required?: string[];
  properties?: JsonObject;
  /** Exactly one of these fields. */
  one_of?: string[];
}

function fileTool({ name, required = [], properties = {}, one_of, ...facts }: FileTool): Tool {
  return defineTool<JsonObject>({
    ...facts,
    name,
    input_schema: {
      type: 'object',
      additionalProperties: false,
      required: ['path', ...required],
      properties: { storage_id: STORAGE_ID, path: PATH, ...properties },
      ...(one_of && {
        oneOf: one_of.map((field) => ({
          required: [field],
          properties: Object.fromEntries(one_of.map((other) => [other, other === field])),
        })),
      }),
    },
    class: 'files',
    // What only looks may be done again; what writes is joined where it was begun.
    resumable: !facts.read_only,
    requires_confirmation: false,
    run: (input, context) => context.storage.run(name, input, context),
  });
}

export const fileList = fileTool({
  name: 'file_list',
  os_action: 'file.list',
  read_only: true,
  description:
    'Lists a directory of a Storage on this device. Use it to find files; path "" is the root. ' +
    'Returns entries in the order of their names: for each path, type (file or directory), size in bytes and modified_at (both null of a directory); ' +
    'and next, which is null at the end. Pass the complete next back to go on where the list ended.',
  properties: {
    recursive: {
      type: 'boolean',
      default: false,
      description: 'true: everything under the directory, each directory before what it holds.',
    },
    next: {
      type: 'object',
      additionalProperties: false,
      required: ['storage_id', 'path', 'recursive', 'after'],
      properties: {
        storage_id: { type: 'string' },
        path: { type: 'string' },
        recursive: { type: 'boolean' },
        after: { type: 'string' },
      },
      description: 'The complete next of the answer before.',
    },
  },
});

export const fileStat = fileTool({
  name: 'file_stat',
  os_action: 'file.stat',
  read_only: true,
  description:
    'Tells what stands at a path of a Storage. Use it to see whether something is there, changed or read-only, or to get its hash. ' +
    'Returns path, type, size and modified_at (null of a directory), sealed (true: read-only on this device), unsaved (true: it differs from ' +
    'what was last saved or brought), and with hash: true sha256 of the file or of the whole tree.',
  properties: {
    hash: { type: 'boolean', default: false, description: 'true: read everything and return its SHA-256.' },
  },
});

export const fileReadText = fileTool({
  name: 'file_read_text',
  os_action: 'file.read_text',
  read_only: true,
  description:
    'Reads a text file of a Storage: UTF-8, or UTF-16 with a byte order mark. Returns path, text (at most 256 KiB, cut between two characters), ' +
    'encoding, size in bytes, modified_at, and next, which is null at the end. Pass the complete next back to go on exactly where the text ended; ' +
    'when the file changed in between the answer is cursor_invalid. Anything that is no text is not_a_text_file.',
  properties: {
    next: {
      type: 'object',
      additionalProperties: false,
      required: ['storage_id', 'path', 'offset', 'size', 'modified_at'],
      properties: {
        storage_id: { type: 'string' },
        path: { type: 'string' },
        offset: { type: 'integer', minimum: 0 },
        size: { type: 'integer', minimum: 0 },
        modified_at: { type: 'number' },
      },
      description: 'The complete next of the answer before.',
    },
  },
});

export const fileReadImage = fileTool({
  name: 'file_read_image',
  os_action: 'file.read_image',
  read_only: true,
  description:
    'Reads a picture of a Storage: png, jpeg, webp or gif, as its own bytes say. Use it to look at pictures. ' +
    'Returns path, mime_type, size in bytes, modified_at, and the picture as image_base64, or as image_blob when it is large.',
});

export const fileWrite = fileTool({
  name: 'file_write',
  os_action: 'file.write',
  read_only: false,
  description:
    'Writes a file into a Storage on this device, with the directories above it. It is saved to the platform only by workspace_storage_path. ' +
    'Give the content as text or as base64. A file that is there is replaced unless overwrite is false; it is never half written. ' +
    'Returns path, size in bytes and sha256.',
  properties: {
    text: { type: 'string', description: 'The content, written as UTF-8.' },
    base64: { type: 'string', description: 'The content as base64, for what is no text.' },
    overwrite: {
      type: 'boolean',
      default: true,
      description: 'false: storage_path_exists when something is there.',
    },
  },
  one_of: ['base64', 'text'],
});

export const fileMove = fileTool({
  name: 'file_move',
  os_action: 'file.move',
  read_only: false,
  description:
    'Moves or renames a file or directory inside one Storage; directories above the new place are made. A directory never replaces anything. ' +
    'Returns path, the new one. Large directories take as long as copying them.',
  required: ['to'],
  properties: {
    to: { type: 'string', description: 'The new path, relative to the root of the same Storage.' },
    overwrite: {
      type: 'boolean',
      default: false,
      description: 'true: a file may replace a file. Otherwise storage_path_exists.',
    },
  },
});

export const fileRemove = fileTool({
  name: 'file_remove',
  os_action: 'file.remove',
  read_only: false,
  description:
    'Deletes a file or directory of a Storage on this device. The platform learns of it at the next save. A directory that holds anything goes ' +
    'only with recursive: true, and then as a whole or not at all. Returns path. What was not saved is lost.',
  properties: {
    recursive: {
      type: 'boolean',
      default: false,
      description: 'true: also a directory that holds something.',
    },
  },
});
