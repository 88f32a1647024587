/** `save_path`: merge, scan that path, upload what the server lacks, commit that path; seal it if asked. */
import { AgentError } from '../../protocol/errors';
import { adoptCommit, commitWithMerges } from '../commit';
import { type Gathered, gather } from '../gather';
import { entriesWithin } from '../index-entries';
import type { LocalChanges } from '../local-changes';
import { Merging } from '../merge-step';
import { ancestors, isInternalName, quote, relativeTo } from '../paths';
import type { CommitBody, StillnessMark } from '../ports';
import { applyEntries, type Scope, storageScope } from '../scope';
import { parseSealUntil, type Seal } from '../seals';
import type { Session } from '../session';
import { type HashedEntry, treeHash } from '../tree-hash';
import { uploadChanges } from '../upload';
import { copyToVault } from '../vault';
import { type Mode, need, needStoragePath } from './mode';

export const savePath: Mode = async (session, transaction, input, job) => {
  const path = needStoragePath(session, input, 'root_allowed');
  const until = input.seal ? parseSealUntil(input.seal_until) : null;
  const sealing = input.seal === true && (until === null || until > session.now());
  const transport = job.connect({ storage_id: session.storage.storage_id }, need(input, 'token'));
  const scope = await storageScope(session);
  await requireNotSuddenlyEmpty(session, scope, path);
  const formerBase = scope.base;

  const merging = new Merging(session, transaction, transport, scope, job);
  await merging.merge();
  const replaced = session.record.seals.find((seal) => seal.path === path);
  const seal: Seal = { path, until, hash: null, entries: [], vault: null };
  const others = session.record.seals.filter((other) => other.path !== path);
  // Before the scan: what is saved is what is sealed.
  if (sealing) await transaction.setSeals([...others, seal]);

  let uploadedBytes = 0;
  let saved: Gathered | null = null;
  let mark: StillnessMark | null = null;
  let entries: Parameters<typeof applyEntries>[1] = new Map();
  const reply = await commitWithMerges(
    transport,
    job,
    async () => {
      await requireNotSuddenlyEmpty(session, scope, path);
      const recalled = await session.ports.settled.recall(session.storage, scope, path);
      mark = recalled ? null : await session.ports.settled.mark(session.storage);
      const gathered = recalled ?? (await gather(session, scope, path, job));
      const uploaded = await uploadChanges(session, transport, scope.index, path, gathered, job);
      uploadedBytes += uploaded.uploadedBytes;
      saved = gathered;
      entries = uploaded.entries;
      if (gathered.kind === 'absent' && uploaded.changes.length === 0) {
        throw new AgentError(
          'path_not_found',
          `There is nothing at ${quote(path)}, and nothing was saved there.`,
        );
      }
      if (sealing) await prepareSeal(gathered);
      if (uploaded.changes.length === 0) return null;
      return { base_revision: merging.revision, ...aboveToo(scope, path, uploaded) };
    },
    () => merging.merge(),
  );
  applyEntries(scope, entries);
  if (reply !== null) await adoptCommit(transport, scope, reply.revision, job.signal);

  const content = contentOf(scope, path);
  const hash = await hashOf(content, path);
  // Nothing is there to be sealed when what was saved is a deletion.
  const sealed = sealing && hash !== null;
  const inner = content.map((entry) => within(path, entry));
  if (sealing) session.record.seals = sealed ? [...others, { ...seal, hash, entries: inner }] : others;
  session.record.saved_at = session.now();
  const unneeded = [replaced?.vault, sealed ? null : seal.vault].filter((vault) => typeof vault === 'string');
  // Then only the time of the save is new.
  const idle = reply === null && !scope.indexChanged && scope.base === formerBase && !sealing;
  if (idle) await transaction.remark(scope.write());
  else await transaction.finish(scope.write(), sealing ? unneeded : []);
  if (saved !== null && mark !== null) session.ports.settled.note(session.storage, path, saved, mark);

  const files = content.filter((entry) => entry.type === 'file');
  return {
    revision: reply?.revision ?? merging.revision,
    sealed,
    hash,
    files: files.length,
    bytes: files.reduce((sum, file) => sum + file.size, 0),
    uploaded_bytes: uploadedBytes,
    unstable: (saved as Gathered | null)?.unstable ?? [],
    kept: [...merging.kept],
    deferred: merging.deferred,
  };

  /** In a folder other programs write on: with a copy, the sealed content can be put back. */
  async function prepareSeal(gathered: Gathered): Promise<void> {
    if (!gathered.complete || gathered.unstable.length > 0) {
      throw new AgentError(
        'storage_state_conflict',
        `${quote(path)} keeps changing and cannot be sealed. Try again when nothing writes there.`,
      );
    }
    if (session.storage.kind === 'browser') return;
    if (seal.vault === null) {
      seal.vault = `seal-${session.newId()}`;
      await transaction.makesVaultFolder(seal.vault);
    }
    const files = [...gathered.files].map(([at, { size, sha256 }]) => {
      const handle = gathered.handles.get(at);
      if (!handle) throw new AgentError('internal_error');
      return { handle, size, sha256 };
    });
    await copyToVault(session, seal.vault, files, job.signal);
  }
};

/** What is saved of `path` now, links left out. */
function contentOf(scope: Scope, path: string): HashedEntry[] {
  return entriesWithin(scope.index, path, scope.links).map(([at, entry]) =>
    entry.type === 'file'
      ? { type: 'file', path: at, size: entry.size, sha256: entry.sha256 }
      : { type: 'directory', path: at },
  );
}

/** The file's or the tree's hash; null when the saved state is that nothing is there. */
async function hashOf(content: readonly HashedEntry[], path: string): Promise<string | null> {
  const own = content.find((entry) => entry.path === path);
  if (own?.type === 'file') return own.sha256;
  if (content.length === 0 && path !== '') return null;
  return treeHash(content.filter((entry) => entry !== own).map((entry) => within(path, entry)));
}

/** A saved file that became the directory in which the path is now: it has to go with this commit. */
function aboveToo(
  scope: Scope,
  path: string,
  { changes, entries }: LocalChanges,
): Pick<CommitBody, 'path' | 'changes'> {
  const file = ancestors(path).find((above) => scope.index.get(above)?.type === 'file');
  if (file === undefined || !changes.some((change) => change.op === 'put')) return { path, changes };
  entries.set(file, null);
  return { path: file, changes: [{ op: 'delete', path: file }, ...changes] };
}

function within(path: string, entry: HashedEntry): HashedEntry {
  return { ...entry, path: relativeTo(path, entry.path) };
}

/** storage.md, Settled in detail: the marker is there, all else is gone: not everything was deleted. */
async function requireNotSuddenlyEmpty(session: Session, scope: Scope, path: string): Promise<void> {
  if (path !== '') return;
  let saved = 0;
  for (const entry of scope.index.values()) if (entry.type === 'file') saved++;
  if (saved <= 1) return;
  for await (const [name] of session.root.entries()) if (!isInternalName(name)) return;
  throw new AgentError(
    'storage_unavailable',
    'The folder of this Storage is suddenly empty. Nothing was deleted at the platform. A person must bring the files back, or attach the folder anew.',
  );
}
