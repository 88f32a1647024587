/**
 * Seals: which paths are read-only on this device, and until when (storage.md, Seals). Keeping the sealed
 * content in place in a folder is `seal-guard`. Pure.
 */
import { AgentError } from '../protocol/errors';
import { isWithin, overlaps, quote } from './paths';
import type { HashedEntry } from './tree-hash';

export interface Seal {
  path: string;
  /** Epoch ms; null: until it is unsealed. */
  until: number | null;
  /** What was sealed: the file's or the tree's hash. Null while its save is under way. */
  hash: string | null;
  /** The sealed content; a sealed file is one entry with the path `""`. Paths relative to `path`. */
  entries: HashedEntry[];
  /** The folder in the vault with the copies, named by hash; null where nobody else can write. */
  vault: string | null;
}

/** Below this a number means seconds, else milliseconds: the year 5138 in seconds, 1973 in milliseconds. */
const FIRST_MILLISECONDS = 100_000_000_000;
const LAST_DATE_MS = 8_640_000_000_000_000;

/** `seal_until` as epoch ms; null when there is none. `invalid_input` when it is no time. */
export function parseSealUntil(value: string | number | null | undefined): number | null {
  if (value === undefined || value === null) return null;
  const parsed = typeof value === 'number' ? fromNumber(value) : fromText(value.trim());
  if (!Number.isFinite(parsed) || parsed < 0 || parsed > LAST_DATE_MS) {
    throw new AgentError('invalid_input', 'input.seal_until is neither ISO 8601 nor an epoch time.');
  }
  return parsed;
}

function fromNumber(value: number): number {
  return Math.abs(value) < FIRST_MILLISECONDS ? Math.round(value * 1000) : Math.round(value);
}

function fromText(text: string): number {
  if (/^\d+(\.\d+)?$/.test(text)) return fromNumber(Number(text));
  if (!/^\d{4}-\d{2}-\d{2}/.test(text)) return Number.NaN;
  const hasTime = /[T ]\d{2}:?\d{2}/.test(text);
  const hasZone = /(Z|[+-]\d{2}(:?\d{2})?)$/i.test(text.slice(10));
  return Date.parse(hasTime && !hasZone ? `${text}Z` : text);
}

/** The seals that still hold at `now`. Expiry needs no message. */
export function activeSeals(seals: readonly Seal[], now: number): Seal[] {
  return seals.filter((seal) => seal.until === null || seal.until > now);
}

/** The seal that a write at `path` would break: one on it, above it, or on something under it. */
export function sealAgainst(seals: readonly Seal[], path: string): Seal | null {
  return seals.find((seal) => overlaps(seal.path, path)) ?? null;
}

/** True when `path` itself is read-only. */
export function isSealed(seals: readonly Seal[], path: string): boolean {
  return seals.some((seal) => isWithin(path, seal.path));
}

/** Throws `storage_path_sealed` when a write at `path` would break a seal. */
export function requireUnsealed(seals: readonly Seal[], path: string): void {
  const seal = sealAgainst(seals, path);
  if (seal === null) return;
  const until = seal.until === null ? '' : ` until ${new Date(seal.until).toISOString()}`;
  throw new AgentError(
    'storage_path_sealed',
    `${quote(seal.path)} is sealed and read-only${until}. The mode unseal_path of workspace_storage_path lifts that.`,
  );
}

/**
 * Whether `remove_path` may take `path` away (storage.md, A sealed path and its own move): its own seal
 * yields when `expected_hash` is what was sealed, and is lifted with the removal. Another seal above or under it
 * does not. Throws `storage_state_conflict` for another hash, `storage_path_sealed` for another seal.
 */
export function requireRemovable(seals: readonly Seal[], path: string, expectedHash: string): void {
  requireUnsealed(
    seals.filter((seal) => seal.path !== path),
    path,
  );
  const own = seals.find((seal) => seal.path === path);
  if (own && own.hash !== expectedHash) {
    throw new AgentError('storage_state_conflict', `${quote(path)} was sealed with another content.`);
  }
}
