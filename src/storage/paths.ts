/**
 * What a path inside a Storage may be (storage.md, Paths and names): the refusals, the names that are
 * internal, and the few operations on paths that everything else uses. Exact Unicode, nothing normalized,
 * nothing decoded. Pure.
 */
import { AgentError } from '../protocol/errors';
import { utf8Length } from '../protocol/json';
import type { RootKind } from './ports';

export const MAX_PATH_BYTES = 4096;
export const MAX_NAME_BYTES = 255;

const INTERNAL_PREFIX = '.endue-storage-';
const SWAP_SUFFIX = '.crswap';

const CONTROL = /\p{Cc}/u;
const LONE_SURROGATE = /\p{Surrogate}/u;

/** `.endue-storage-*` and `*.crswap`, in any case: a folding root would take them for the same file. */
export function isInternalName(name: string): boolean {
  const folded = name.toLowerCase();
  return folded.startsWith(INTERNAL_PREFIX) || folded.endsWith(SWAP_SUFFIX);
}

/** Why `name` cannot be a segment of a path, or null. */
export function nameProblem(name: string): string | null {
  if (name === '') return 'has an empty name in it';
  if (name === '.' || name === '..') return 'has a "." or ".." in it';
  if (name.includes('/')) return 'has a "/" inside a name';
  if (name.includes('\\')) return 'has a backslash in it';
  if (CONTROL.test(name)) return 'has a control character in it';
  if (LONE_SURROGATE.test(name)) return 'has an unpaired surrogate in it';
  if (utf8Length(name) > MAX_NAME_BYTES) return `has a name of more than ${MAX_NAME_BYTES} bytes in it`;
  if (isInternalName(name)) return 'has a name that is reserved for the agent';
  return null;
}

/** Why `path` is refused as `path_invalid`, or null. `""` is fine here; see `requirePath`. */
export function pathProblem(path: string): string | null {
  if (path === '') return null;
  if (path.startsWith('/')) return 'is absolute';
  if (utf8Length(path) > MAX_PATH_BYTES) return `is longer than ${MAX_PATH_BYTES} bytes`;
  for (const name of segments(path)) {
    const problem = nameProblem(name);
    if (problem !== null) return problem;
  }
  return null;
}

/** Throws `path_invalid`. The root `""` passes only where `root` allows it. */
export function requirePath(path: string, root: 'root_allowed' | 'root_refused'): void {
  const problem = path === '' && root === 'root_refused' ? 'is empty' : pathProblem(path);
  if (problem !== null) throw new AgentError('path_invalid', `The path ${quote(path)} ${problem}.`);
}

// What Chrome's API refuses to create in a folder (chrome-facts.md). OPFS holds every name.
const RESERVED_STEM = /^(con|prn|aux|nul|conin\$|conout\$|clock\$|com[0-9¹²³]|lpt[0-9¹²³])$/i;
const RESERVED_NAME = /^(desktop\.ini|thumbs\.db)$/i;
const REFUSED_EXTENSION = /\.(lnk|url|scf|\{[^}]*\})$/i;
const REFUSED_ANYWHERE = /["*:<>?|]|[^\P{Cf}\u200c\u200d]|\p{Noncharacter_Code_Point}/u;
const REFUSED_START = /^(\.\.|~|\p{White_Space})/u;
const REFUSED_END = /(\.|~|\p{White_Space})$/u;

/** True when Chrome's API could not make `name` on a root of this kind. */
export function isUnrepresentable(name: string, kind: RootKind): boolean {
  if (kind === 'browser') return false;
  const stem = name.split('.', 1)[0] as string;
  return (
    RESERVED_STEM.test(stem.trim()) ||
    RESERVED_NAME.test(name) ||
    REFUSED_EXTENSION.test(name) ||
    REFUSED_ANYWHERE.test(name) ||
    REFUSED_START.test(name) ||
    REFUSED_END.test(name)
  );
}

/** True when some name in `path` is unrepresentable. */
export function isUnrepresentablePath(path: string, kind: RootKind): boolean {
  return segments(path).some((name) => isUnrepresentable(name, kind));
}

const NAMED_IN_A_REFUSAL = 5;

/** The refusal of several paths at once: names the first few. */
export function refusal(
  code: 'path_invalid' | 'storage_path_unrepresentable',
  paths: readonly string[],
): AgentError {
  const named = paths.slice(0, NAMED_IN_A_REFUSAL).map(quote).join(', ');
  const more = paths.length > NAMED_IN_A_REFUSAL ? ` and ${paths.length - NAMED_IN_A_REFUSAL} more` : '';
  const reason =
    code === 'path_invalid'
      ? 'Not a legal relative path'
      : 'The file system of this Storage cannot hold the name';
  return new AgentError(code, `${reason}: ${named}${more}.`);
}

const LONGEST_QUOTE = 120;

/** `path` as JSON text, shortened: safe in a sentence whatever is in it. */
export function quote(path: string): string {
  return JSON.stringify(path.length > LONGEST_QUOTE ? `${path.slice(0, LONGEST_QUOTE)}…` : path);
}

export function segments(path: string): string[] {
  return path === '' ? [] : path.split('/');
}

export function join(parent: string, child: string): string {
  if (parent === '') return child;
  return child === '' ? parent : `${parent}/${child}`;
}

/** The directory that holds `path`; `""` for a name at the root. */
export function parentOf(path: string): string {
  const slash = path.lastIndexOf('/');
  return slash < 0 ? '' : path.slice(0, slash);
}

export function nameOf(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1);
}

/** `path`'s ancestors, nearest first, without the root. */
export function ancestors(path: string): string[] {
  const found: string[] = [];
  for (let at = parentOf(path); at !== ''; at = parentOf(at)) found.push(at);
  return found;
}

/** True when `path` is `top` or lies under it. Everything lies under `""`. */
export function isWithin(path: string, top: string): boolean {
  return top === '' || path === top || path.startsWith(`${top}/`);
}

/** True when one of the two lies within the other. */
export function overlaps(a: string, b: string): boolean {
  return isWithin(a, b) || isWithin(b, a);
}

/** `path`, which lies within `top`, relative to it. */
export function relativeTo(top: string, path: string): string {
  if (top === '') return path;
  return path === top ? '' : path.slice(top.length + 1);
}

/** Order by UTF-8 bytes, which is the order of code points (JavaScript's own compares UTF-16 units). */
export function compareUtf8(a: string, b: string): number {
  const length = Math.min(a.length, b.length);
  for (let at = 0; at < length; at++) {
    const left = a.charCodeAt(at);
    const right = b.charCodeAt(at);
    if (left !== right) return codePointRank(left) - codePointRank(right);
  }
  return a.length - b.length;
}

/** Surrogates stand for code points above every other unit. */
function codePointRank(unit: number): number {
  if (unit >= 0xe000) return unit - 0x800;
  return unit >= 0xd800 ? unit + 0x2000 : unit;
}

/** What a root that folds case and Unicode form would take for the same name. */
export function foldName(name: string): string {
  return name.normalize('NFC').toLowerCase().normalize('NFC');
}
