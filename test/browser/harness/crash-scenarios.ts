/** Jobs to be killed in the middle: what is on the device and at the service before, and what each may leave. */
import { createHash } from 'node:crypto';
import type { JsonObject } from '../../../src/protocol/json';
import { treeHash } from '../../../src/storage/tree-hash';
import type { StorageService, Writing } from '../../fake-relay/storage-service';

/** Path → text. Recovered files begin with `recovered/`, whatever the recovery folder's name. */
export type Texts = Record<string, string>;

/** What a scenario works with: one Storage, and for links the Storage they show. */
export interface Patient {
  storage_id: string;
  link_id: string;
  target_id: string;
  service: StorageService;
  /** Opens the Storage, the link and the target. */
  token: string;
}

export interface CrashScenario {
  name: string;
  /** On the device before the first save. */
  first: Texts;
  /** In the target's folder `box`; the link is pulled to `link` before the edits. */
  linked?: Texts;
  /** Edits on the device after the first save; null deletes. */
  local: Record<string, string | null>;
  /** What the service holds by the time of the job; the job's input. */
  act(patient: Patient): Promise<JsonObject>;
  /** What the device holds when the job is done. */
  after: Texts;
  /** Brings device and service together after the restart; each may be refused when the job was done. */
  converge(patient: Patient): JsonObject[];
}

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');
const saveAll: JsonObject = { mode: 'save_path', path: '' };

/** What other writers do at the service. */
function write(patient: Patient, storage_id: string, writing: Writing) {
  return patient.service.write(storage_id, writing);
}

const LINKED: Texts = { one: '1', two: '2', 'in/three': '3', 'in/four': '4' };

export const CRASH_SCENARIOS: readonly CrashScenario[] = [
  {
    name: 'save_path',
    first: { a: 'A', 'd/b': 'B', 'd/in/c': 'C', 'd/gone': 'G' },
    local: { a: 'A, edited', 'd/b': 'B, edited', 'd/gone': null, 'd/new': 'N' },
    async act(patient) {
      await write(patient, patient.storage_id, { 'd/in/c': 'C of another', 'd/e/f': 'F' });
      return { mode: 'save_path', path: 'd', seal: true };
    },
    after: { a: 'A, edited', 'd/b': 'B, edited', 'd/in/c': 'C of another', 'd/new': 'N', 'd/e/f': 'F' },
    converge: () => [{ mode: 'unseal_path', path: 'd' }, saveAll],
  },
  {
    name: 'place_path',
    first: { a: 'A' },
    local: {},
    async act({ service, storage_id }) {
      const revision = await service.stage(storage_id, { 'p/one': '1', 'p/in/two': '2', 'p/in/three': '3' });
      return { mode: 'place_path', path: 'p', revision };
    },
    after: { a: 'A', 'p/one': '1', 'p/in/two': '2', 'p/in/three': '3' },
    converge: () => [saveAll],
  },
  {
    name: 'remove_path',
    first: { a: 'A', 'd/x': 'X', 'd/in/y': 'Y', 'd/in/z': 'Z' },
    local: {},
    async act() {
      const inside = { x: 'X', 'in/y': 'Y', 'in/z': 'Z' };
      const entries = Object.entries(inside).map(([path, text]) => ({
        type: 'file' as const,
        path,
        size: text.length,
        sha256: sha256(text),
      }));
      return { mode: 'remove_path', path: 'd', expected_hash: await treeHash(entries) };
    },
    after: { a: 'A' },
    converge: () => [saveAll],
  },
  {
    name: 'link_pull',
    first: { a: 'A' },
    linked: LINKED,
    local: { 'link/two': 'mine' },
    async act(patient) {
      const revision = await write(patient, patient.target_id, {
        'box/one': '1 of another',
        'box/in/three': null,
        'box/new': 'N',
      });
      return { mode: 'link_pull', link_id: patient.link_id, path: 'link', revision };
    },
    after: { a: 'A', 'link/one': '1 of another', 'link/two': 'mine', 'link/in/four': '4', 'link/new': 'N' },
    converge: ({ link_id, service, target_id }) => [
      saveAll,
      { mode: 'link_pull', link_id, path: 'link', revision: service.head(target_id) },
      { mode: 'link_push', link_id },
    ],
  },
  {
    name: 'link_push',
    first: { a: 'A' },
    linked: LINKED,
    local: { 'link/two': 'mine', 'link/in/three': null },
    async act(patient) {
      await write(patient, patient.target_id, { 'box/one': '1 of another', 'box/new': 'N' });
      // So that it must bring the other's first.
      patient.service.wantMerge(patient.target_id, true);
      return { mode: 'link_push', link_id: patient.link_id };
    },
    after: { a: 'A', 'link/one': '1 of another', 'link/two': 'mine', 'link/in/four': '4', 'link/new': 'N' },
    converge: ({ link_id, service, target_id }) => [
      saveAll,
      { mode: 'link_push', link_id },
      { mode: 'link_pull', link_id, path: 'link', revision: service.head(target_id) },
    ],
  },
  {
    name: 'link_remove',
    first: { a: 'A' },
    linked: LINKED,
    local: { 'link/two': 'mine', 'link/own': 'mine too' },
    async act({ link_id }) {
      return { mode: 'link_remove', link_id, path: 'link' };
    },
    after: { a: 'A', 'recovered/two': 'mine', 'recovered/own': 'mine too' },
    converge: ({ link_id }) => [{ mode: 'link_remove', link_id, path: 'link' }, saveAll],
  },
  {
    name: 'path_sync',
    first: { a: 'A', b: 'B', 'd/c': 'C', 'd/gone': 'G' },
    local: { b: 'mine' },
    async act(patient) {
      const revision = await write(patient, patient.storage_id, {
        a: 'A of another',
        b: 'B of another',
        'd/gone': null,
        'd/n': 'N',
      });
      return { mode: 'path_sync', revision, paths: ['a', 'b', 'd'] };
    },
    after: { a: 'A of another', b: 'mine', 'd/c': 'C', 'd/n': 'N' },
    converge: () => [saveAll],
  },
];
