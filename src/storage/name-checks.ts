/**
 * Whether a root can hold the names that are to come, found out before anything is downloaded
 * (storage.md, Paths and names; cases 6, 12). Over handles; changes nothing.
 */
import pLimit from 'p-limit';
import { type DeviceView, lookAt } from './device-view';
import { isNameRefused, isNotFound, isOtherKind } from './foreign-errors';
import {
  foldName,
  isUnrepresentable,
  isUnrepresentablePath,
  join,
  nameOf,
  parentOf,
  segments,
} from './paths';
import type { RootKind } from './ports';

const LOOKS_IN_FLIGHT = 32;

/** Nothing in such a name but its extension could be refused, beside what the rules of `paths` know. */
const PLAIN_NAME = /^[a-z0-9_][a-z0-9_-]*(\.[a-z0-9_-]+)*$/i;

/**
 * Those of `paths` (device paths of files and directories to come) that this root cannot hold. Beside the rules, the
 * API itself is asked: looking for a name it would refuse to make is refused too. Of plain names that differ in more than their
 * extension one is asked for all of them, and none where the browser's own file system holds every name.
 */
export async function unrepresentable(
  paths: readonly string[],
  kind: RootKind,
  view: DeviceView,
): Promise<string[]> {
  const byRule = new Set(paths.filter((path) => isUnrepresentablePath(path, kind)));
  const asked = new Map<string, { name: string; refused: boolean }>();
  for (const path of paths) {
    for (const name of segments(path)) {
      const kindOfName = sameAnswer(name);
      // What a rule refuses is refused for reasons of its own: it speaks for no other.
      if (isUnrepresentable(name, kind) || (kind === 'browser' && kindOfName !== name)) continue;
      if (!asked.has(kindOfName)) asked.set(kindOfName, { name, refused: false });
    }
  }
  const limit = pLimit(LOOKS_IN_FLIGHT);
  await Promise.all(
    [...asked.values()].map((each) =>
      limit(async () => {
        each.refused = await isRefused(view, each.name);
      }),
    ),
  );
  const refused = (name: string) => asked.get(sameAnswer(name))?.refused === true;
  return paths.filter((path) => byRule.has(path) || segments(path).some(refused));
}

/** What names to which the API gives the same answer have in common: no name can be equal to that of plain ones. */
function sameAnswer(name: string): string {
  if (!PLAIN_NAME.test(name)) return name;
  const dot = name.lastIndexOf('.');
  return `/${dot < 0 ? '' : name.slice(dot).toLowerCase()}`;
}

async function isRefused(view: DeviceView, name: string): Promise<boolean> {
  try {
    await view.root.getFileHandle(name);
  } catch (thrown) {
    if (isNotFound(thrown) || isOtherKind(thrown)) return false;
    if (isNameRefused(thrown)) return true;
    throw thrown;
  }
  return false;
}

/**
 * Those of `paths` whose name, or an ancestor's, is one that the root folds together with another: one that is there and
 * does not go away (`leaving`), or another that comes.
 */
export async function folded(
  paths: readonly string[],
  leaving: ReadonlySet<string>,
  view: DeviceView,
): Promise<string[]> {
  const arriving = new Map<string, Map<string, string>>();
  const collisions = new Set<string>();
  // What is in a directory that collides must not come to the other one.
  const known = new Map<string, boolean>();
  for (const path of paths) {
    for (let at = path; at !== ''; at = parentOf(at)) {
      const found = known.get(at) ?? (await collides(at, arriving, leaving, view));
      known.set(at, found);
      if (found) collisions.add(path);
    }
  }
  return [...collisions];
}

async function collides(
  path: string,
  arriving: Map<string, Map<string, string>>,
  leaving: ReadonlySet<string>,
  view: DeviceView,
): Promise<boolean> {
  const parent = parentOf(path);
  const name = nameOf(path);
  const fold = foldName(name);
  const siblings = arriving.get(parent) ?? new Map<string, string>();
  arriving.set(parent, siblings);
  const other = siblings.get(fold);
  if (other !== undefined) return other !== name;
  siblings.set(fold, name);
  const present = await view.namesIn(parent);
  if (present.has(name)) return false;
  for (const there of present) {
    const at = parent === '' ? there : `${parent}/${there}`;
    if (foldName(there) === fold && !leaving.has(at)) return true;
  }
  return isTakenForAnother(path, present, leaving, view);
}

/**
 * Whether the root finds something under a name that it does not list. What it takes for the same, `ß` and `ss` perhaps, it
 * knows by tables of its own.
 */
async function isTakenForAnother(
  path: string,
  present: ReadonlySet<string>,
  leaving: ReadonlySet<string>,
  view: DeviceView,
): Promise<boolean> {
  const parent = await view.lookDirectory(parentOf(path));
  if (parent.kind !== 'directory' || (await lookAt(parent.handle, nameOf(path))).kind === 'absent')
    return false;
  const fold = foldFurther(nameOf(path));
  return ![...present].some(
    (there) => foldFurther(there) === fold && leaving.has(join(parentOf(path), there)),
  );
}

/**
 * Those of `paths`, which come together, whose name or an ancestor's the root takes for that of another of them, by tables of
 * its own. `areSame` asks it; it is asked only about names that some root might take for the same.
 */
export async function foldedFurther(
  paths: readonly string[],
  areSame: (one: string, other: string) => Promise<boolean>,
): Promise<string[]> {
  const coming = new Map<string, Set<string>>();
  const second = new Set<string>();
  const isSecond = async (at: string): Promise<boolean> => {
    const name = nameOf(at);
    const key = JSON.stringify([parentOf(at), foldFurther(name)]);
    const names = coming.get(key) ?? new Set<string>();
    coming.set(key, names);
    if (names.has(name)) return second.has(at);
    for (const other of names) if (await areSame(other, name)) second.add(at);
    names.add(name);
    return second.has(at);
  };
  const found: string[] = [];
  for (const path of paths) {
    let collides = false;
    for (let at = path; at !== ''; at = parentOf(at)) if (await isSecond(at)) collides = true;
    if (collides) found.push(path);
  }
  return found;
}

/** As far as any root may go: full case folding, compatible forms. */
function foldFurther(name: string): string {
  return foldName(name.normalize('NFKC').toUpperCase());
}
