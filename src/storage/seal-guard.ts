/**
 * Keeps sealed content in place where other programs can write: their change goes to the recovery folder, what was
 * sealed is put back from its copy in the vault (storage.md, Seals). Also lets expired seals go.
 */
import { DeviceView } from './device-view';
import { hashStable } from './hash-file';
import { emptyPlan, isEmptyPlan, type Plan, recoveryFolder } from './journal';
import { ancestors, join, overlaps, segments } from './paths';
import type { FileHandle } from './ports';
import { isSurelyUnchanged } from './racy-time';
import { scan } from './scan';
import { activeSeals, type Seal } from './seals';
import type { Session } from './session';
import { Transaction } from './transaction';
import { fromVault } from './vault';
import { snapshotStream, writeVerified } from './write-file';

/** Seals whose time has come are gone, with their copies. */
export async function dropExpiredSeals(session: Session): Promise<void> {
  const active = activeSeals(session.record.seals, session.now());
  if (active.length === session.record.seals.length) return;
  const vaults = session.record.seals.flatMap((seal) =>
    active.includes(seal) || seal.vault === null ? [] : [seal.vault],
  );
  session.record.seals = active;
  await new Transaction(session).finish([session.writeRecord()], vaults);
}

/** Puts every seal's content back. Resolves with the device paths of the foreign content it moved away. */
export async function enforceSeals(session: Session, signal: AbortSignal): Promise<string[]> {
  if (session.storage.kind === 'browser') return [];
  const recovered: string[] = [];
  for (const seal of activeSeals(session.record.seals, session.now())) {
    if (seal.hash === null || seal.vault === null) continue;
    recovered.push(...(await enforce(session, seal, seal.vault, signal)));
  }
  return recovered;
}

async function enforce(session: Session, seal: Seal, vault: string, signal: AbortSignal): Promise<string[]> {
  const transaction = new Transaction(session);
  try {
    const { plan, wanted } = await compare(session, transaction, seal, signal);
    if (isEmptyPlan(plan)) return [];
    for (const file of wanted) {
      const copy = await fromVault(session, vault, file.sha256);
      // Without its copy nothing can be put back: then the foreign content is better than none.
      if (copy === null) return [];
    }
    const temp = await transaction.tempFolder();
    for (const file of wanted) {
      const copy = await fromVault(session, vault, file.sha256);
      const done = copy && (await writeVerified(temp, file.temp, file, snapshotStream(copy), signal));
      if (done === null) {
        await transaction.undo();
        return [];
      }
    }
    await transaction.publish(plan, signal);
    await transaction.finish([]);
    return plan.recovered.map(({ to }) => to);
  } catch (thrown) {
    await transaction.undo();
    throw thrown;
  }
}

interface Comparison {
  plan: Plan;
  wanted: { temp: string; size: number; sha256: string }[];
}

async function compare(
  session: Session,
  transaction: Transaction,
  seal: Seal,
  signal: AbortSignal,
): Promise<Comparison> {
  const view = new DeviceView(session.root, session.folds);
  const links = session.record.links.map((link) => link.path);
  const expected = new Map(
    seal.entries
      .map((entry) => [join(seal.path, entry.path), entry] as const)
      .filter(([path]) => !links.some((link) => overlaps(path, link))),
  );
  const present = await presentFiles(session, view, seal, signal);
  const { index } = await session.loadIndex(session.storageIndexKey());
  const plan = emptyPlan();
  const foreign: string[] = [...present.blockers];
  const good = new Set<string>();
  for (const [path, handle] of present.files) {
    const sealed = expected.get(path);
    if (sealed?.type === 'file') {
      const agreed = index.get(path);
      const file = await handle.getFile();
      const seen = { size: file.size, mtime: file.lastModified };
      const trusted = agreed?.type === 'file' && agreed.sha256 === sealed.sha256;
      if (trusted && isSurelyUnchanged(agreed, seen)) {
        good.add(path);
        continue;
      }
      const hashed = await hashStable(handle, signal, undefined, file);
      if (hashed.state === 'stable' && hashed.sha256 === sealed.sha256) {
        good.add(path);
        continue;
      }
    }
    foreign.push(path);
  }
  const directories = new Set<string>();
  const wanted: Comparison['wanted'] = [];
  for (const [path, entry] of expected) {
    for (const above of ancestors(path)) directories.add(above);
    if (entry.type === 'directory') directories.add(path);
    else if (!good.has(path)) {
      const { size, sha256 } = entry;
      const placed = { path, temp: transaction.newName('new'), size, sha256 };
      plan.placed.push(placed);
      wanted.push(placed);
    }
  }
  // The root of an empty sealed tree is a directory too.
  const isFile = expected.get(seal.path)?.type === 'file';
  if (!isFile && seal.path !== '')
    for (const path of [seal.path, ...ancestors(seal.path)]) directories.add(path);
  const folder = await freeRecovery(session);
  for (const path of foreign) plan.recovered.push({ from: path, to: join(folder, path) });
  plan.emptied = [...present.directories].filter((path) => !directories.has(path)).sort(deepestFirst);
  for (const path of [...directories].sort(deepestFirst).reverse()) {
    if ((await view.look(path)).kind !== 'directory') plan.made.push(path);
  }
  return { plan, wanted };
}

interface Present {
  files: Map<string, FileHandle>;
  directories: Set<string>;
  /** A file that stands where a directory above the sealed path was. */
  blockers: string[];
}

async function presentFiles(
  session: Session,
  view: DeviceView,
  seal: Seal,
  signal: AbortSignal,
): Promise<Present> {
  const found = await view.look(seal.path);
  if (found.kind === 'absent') {
    return {
      files: new Map(),
      directories: new Set(),
      blockers: found.blocker === null ? [] : [found.blocker],
    };
  }
  if (found.kind === 'file') {
    return { files: new Map([[seal.path, found.handle]]), directories: new Set(), blockers: [] };
  }
  const links = session.record.links.map((link) => link.path);
  const seen = await scan(found.handle, { prefix: seal.path, links, signal });
  const files = new Map([...seen.files].map(([path, file]) => [path, file.handle]));
  const directories = new Set(seen.directories);
  if (seal.path !== '') directories.add(seal.path);
  return { files, directories, blockers: [] };
}

async function freeRecovery(session: Session): Promise<string> {
  const name = recoveryFolder(session.now(), 'sealed');
  for (let n = 0; ; n++) {
    const candidate = n === 0 ? name : `${name}-${n}`;
    if ((await new DeviceView(session.root, false).look(candidate)).kind === 'absent') return candidate;
  }
}

function deepestFirst(a: string, b: string): number {
  return segments(b).length - segments(a).length;
}
