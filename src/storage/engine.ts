/**
 * The storage-path engine: takes jobs, runs one at a time per Storage, recovers what was cut off, and undoes what
 * fails. Sees directory handles, a transport, a durable store and a clock (`ports`); no `chrome`, no socket.
 */
import { AgentError } from '../protocol/errors';
import type { Progress } from '../protocol/frames';
import type { JsonObject } from '../protocol/json';
import { lookAt } from './device-view';
import { storageError } from './foreign-errors';
import { type Job, Meter } from './job';
import { RECOVERY_PREFIX, tempFolder } from './journal';
import { isRootGone, requireAttachedRoot, requireSameRoot } from './marker';
import { linkPull } from './modes/link-pull';
import { linkPush } from './modes/link-push';
import { linkRemove } from './modes/link-remove';
import { type Mode, need, type StoragePathInput, type StoragePathMode } from './modes/mode';
import { pathSync } from './modes/path-sync';
import { placePath } from './modes/place-path';
import { removePath } from './modes/remove-path';
import { savePath } from './modes/save-path';
import { unsealPath } from './modes/unseal-path';
import { overlaps } from './paths';
import type { AttachedStorage, ConnectTransport, Revision, Stillness } from './ports';
import { Queues } from './queue';
import { clearStrays, recoverJournal } from './recovery';
import { dropExpiredSeals, enforceSeals } from './seal-guard';
import { activeSeals, requireUnsealed } from './seals';
import { loadRecord, Session, type SessionPorts, type StorageRecord, statePrefix } from './session';
import { Settled } from './settled';
import { Transaction } from './transaction';

const MODES: Record<StoragePathMode, Mode> = {
  save_path: savePath,
  unseal_path: unsealPath,
  place_path: placePath,
  remove_path: removePath,
  link_pull: linkPull,
  link_push: linkPush,
  link_remove: linkRemove,
  path_sync: pathSync,
};

export interface EnginePorts extends Omit<SessionPorts, 'settled'> {
  connect: ConnectTransport;
  /** Null where it can never be proven that nothing moved. */
  stillness: Stillness | null;
}

export interface EngineRequest {
  /** Of the tool request; commits carry it as their Idempotency-Key. */
  request_id: string;
  input: StoragePathInput;
  /** Of this job only: its token goes to the origin that was the socket's when it came. Default: the engine's. */
  connect?: ConnectTransport;
  /** Aborted by a cancel or at the deadline, with an `AgentError` as its reason. */
  signal: AbortSignal;
  progress(progress: Progress): void;
}

/** For the Storages page and `workspace_info`. */
export interface StorageFacts {
  revision: Revision | null;
  /** Epoch ms. */
  saved_at: number | null;
  sealed: { path: string; until: number | null }[];
  links: { link_id: string; path: string; broken: boolean }[];
  /** The folder is not where it was, or is another one: every job is `storage_unavailable`. Its permission does not tell. */
  gone: boolean;
  /** Names of the recovery folders at the root. */
  recovery_folders: string[];
}

export class StorageEngine {
  private readonly queues = new Queues();
  /** Storages whose leftovers were looked for since this engine started. */
  private readonly cleared = new Set<string>();

  private readonly ports: EnginePorts & SessionPorts;

  constructor(ports: EnginePorts) {
    this.ports = { ...ports, settled: new Settled(ports.stillness) };
  }

  /** One call of `workspace_storage_path`. Throws `AgentError` only; then the old state is whole. */
  async run(request: EngineRequest): Promise<JsonObject> {
    const { input, signal } = request;
    const job: Job = {
      request_id: request.request_id,
      signal,
      meter: new Meter(this.ports.clock, request.progress),
      connect: request.connect ?? this.ports.connect,
    };
    try {
      const storageId = await this.storageOf(input, job);
      return await this.queues.run(
        storageId,
        async () => {
          const session = await this.open(storageId, signal, input.mode === 'unseal_path');
          return await this.runMode(session, input, job);
        },
        signal,
      );
    } catch (thrown) {
      throw storageError(thrown, signal);
    }
  }

  /**
   * Finishes or undoes what was cut off, in every attached Storage that can be reached. At the start of the browser; jobs
   * do the same for their own Storage.
   */
  async recover(): Promise<void> {
    for (const storageId of await this.ports.storages.list()) {
      await this.queues
        .run(storageId, async () => void (await this.open(storageId, new AbortController().signal)))
        // Without permission or folder its journal waits.
        .catch(() => undefined);
    }
  }

  /** Puts sealed content back that other programs changed: after a hint of the observer. Device paths moved away. */
  async checkSeals(storageId: string, signal: AbortSignal): Promise<string[]> {
    try {
      return await this.queues.run(storageId, async () => {
        const session = await this.prepare(storageId);
        return enforceSeals(session, signal);
      });
    } catch (thrown) {
      throw storageError(thrown, signal);
    }
  }

  /**
   * Runs the work of a file tool in the Storage's queue, on a root that is whole. What `work` did with the transaction is
   * undone when it throws. `reads`: it changes nothing, so what is known to be as it was saved still is.
   */
  async perform<T>(
    storageId: string,
    signal: AbortSignal,
    work: (session: Session, transaction: Transaction) => Promise<T>,
    reads?: 'reads',
  ): Promise<T> {
    try {
      return await this.queues.run(
        storageId,
        async () => {
          const session = await this.open(storageId, signal, reads === 'reads');
          const transaction = new Transaction(session);
          if (!reads) session.unsettle();
          try {
            return await work(session, transaction);
          } catch (thrown) {
            await transaction.undo().catch(() => undefined);
            throw await this.explain(session, thrown, signal);
          }
        },
        signal,
      );
    } catch (thrown) {
      throw storageError(thrown, signal);
    }
  }

  /**
   * The same for work that needs the root only. `guard` is to be called with each path before it is written:
   * `storage_path_sealed` when it is read-only.
   */
  exclusively<T>(
    storageId: string,
    signal: AbortSignal,
    work: (storage: AttachedStorage, guard: (path: string) => void) => Promise<T>,
  ): Promise<T> {
    return this.perform(storageId, signal, (session) =>
      work(session.storage, (path) => requireWritable(session, path)),
    );
  }

  /** What is durable of a Storage; needs no permission, except for the recovery folders. */
  async facts(storageId: string): Promise<StorageFacts> {
    const record = await loadRecord(this.ports.state, storageId);
    return {
      revision: record.base,
      saved_at: record.saved_at,
      sealed: activeSeals(record.seals, this.ports.clock.now()).map(({ path, until }) => ({ path, until })),
      links: record.links.map(({ link_id, path, broken }) => ({ link_id, path, broken })),
      ...(await this.lookAtRoot(storageId, record)),
    };
  }

  private async lookAtRoot(
    storageId: string,
    record: StorageRecord,
  ): Promise<Pick<StorageFacts, 'gone' | 'recovery_folders'>> {
    const names: string[] = [];
    try {
      const storage = await this.ports.storages.open(storageId);
      if (storage.kind === 'folder' && (await isRootGone(storage, record))) {
        return { gone: true, recovery_folders: [] };
      }
      for await (const [name, handle] of storage.root.entries()) {
        if (handle.kind === 'directory' && name.startsWith(RECOVERY_PREFIX)) names.push(name);
      }
    } catch {
      return { gone: false, recovery_folders: [] };
    }
    return { gone: false, recovery_folders: names.sort() };
  }

  /** Which Storage a job is about: a link is known here, or its server says. */
  private async storageOf(input: StoragePathInput, job: Job): Promise<string> {
    if (input.storage_id !== undefined) return input.storage_id;
    if (!input.mode.startsWith('link_')) {
      throw new AgentError('invalid_input', `input lacks the field "storage_id", which ${input.mode} needs.`);
    }
    const linkId = need(input, 'link_id');
    for (const storageId of await this.ports.storages.list()) {
      const record = await loadRecord(this.ports.state, storageId);
      if (record.links.some((link) => link.link_id === linkId)) return storageId;
    }
    if (input.mode !== 'link_pull') throw new AgentError('link_unknown');
    const facts = await job.connect({ link_id: linkId }, need(input, 'token')).link(job.signal);
    return facts.storage_id;
  }

  private async runMode(session: Session, input: StoragePathInput, job: Job): Promise<JsonObject> {
    const transaction = new Transaction(session);
    // The other modes change the index, or what of it counts, in ways of their own.
    if (input.mode !== 'save_path') session.unsettle();
    try {
      return await MODES[input.mode](session, transaction, input, job);
    } catch (thrown) {
      session.unsettle();
      // When the undoing fails too, the journal stays: the next job or start does it.
      await transaction.undo().catch(() => undefined);
      await this.noteBrokenLink(session, input, thrown);
      throw await this.explain(session, thrown, job.signal);
    }
  }

  /** 410 is told once: `link_remove` asks no server and must know. */
  private async noteBrokenLink(session: Session, input: StoragePathInput, thrown: unknown): Promise<void> {
    if (!(thrown instanceof AgentError) || thrown.code !== 'link_target_gone') return;
    const record = await loadRecord(this.ports.state, session.storage.storage_id);
    const link = record.links.find((other) => other.link_id === input.link_id);
    if (!link || link.broken) return;
    link.broken = true;
    await this.ports.state.batch([session.writeRecord(record)]).catch(() => undefined);
  }

  /** A root that went away in the middle explains whatever the handles threw. */
  private async explain(session: Session, thrown: unknown, signal: AbortSignal): Promise<AgentError> {
    if (thrown instanceof AgentError) return thrown;
    try {
      await requireSameRoot(session);
    } catch (gone) {
      const error = storageError(gone, signal);
      if (error.code === 'storage_unavailable') return error;
    }
    return storageError(thrown, signal);
  }

  /**
   * A session on a root that is whole: nothing cut off, no expired seal, sealed content in place. `anyway`: for what relies
   * on no seal. What keeps sealed content from its place, a full disk or a folder that cannot be taken away, must
   * not keep a person from the other files, nor from lifting the seal.
   */
  private async open(storageId: string, signal: AbortSignal, anyway = false): Promise<Session> {
    const session = await this.prepare(storageId);
    try {
      await enforceSeals(session, signal);
    } catch (thrown) {
      // Only when it was undone whole.
      if (!anyway || signal.aborted || (await session.journal()) !== null) throw thrown;
    }
    return session;
  }

  private async prepare(storageId: string): Promise<Session> {
    const storage = await this.ports.storages.open(storageId);
    const isAnother = await this.isAnother(storage);
    if (isAnother) await this.forget(storage);
    const before = await Session.load(storage, this.ports);
    await requireAttachedRoot(before);
    // Not before its root is marked: as long as it is new, another's mark does not count.
    if (isAnother) await this.ports.storages.noteForgotten(storageId);
    await recoverJournal(before);
    if (!this.cleared.has(storageId)) {
      await clearStrays(before);
      this.cleared.add(storageId);
    }
    const session = await Session.load(storage, this.ports);
    await dropExpiredSeals(session);
    return session;
  }

  /** Whether what is durable under its id is of another attachment: an earlier one, or one of another kind beside it. */
  private async isAnother({ storage_id, kind, fresh }: AttachedStorage): Promise<boolean> {
    if (fresh) return true;
    const { kind: known } = await loadRecord(this.ports.state, storage_id);
    return known !== null && known !== kind;
  }

  /**
   * What is durable of another attachment under the same id does not count; its files stay as they are. When it was of
   * this same root and a job of it was cut off, that is undone first: its files are still in the temp folder, and only the
   * journal knows their names.
   */
  private async forget(storage: AttachedStorage): Promise<void> {
    const storageId = storage.storage_id;
    const former = await Session.load(storage, this.ports);
    const journal = await former.journal();
    if (journal && (await lookAt(storage.root, tempFolder(journal))).kind === 'directory') {
      await recoverJournal(former);
    }
    const keys = await this.ports.state.keys(statePrefix(storageId));
    if (keys.length > 0) await this.ports.state.batch(keys.map((key) => ({ key, delete: true })));
    this.cleared.delete(storageId);
    this.ports.settled.forget(storageId);
  }
}

/** Throws `storage_path_sealed` when the path is read-only on this device. */
export function requireWritable(session: Session, path: string): void {
  requireUnsealed(activeSeals(session.record.seals, session.now()), path);
  const link = session.record.links.find((other) => other.removed && overlaps(other.path, path));
  if (link) {
    throw new AgentError(
      'storage_path_sealed',
      'This folder is of a link whose target is gone: it is read-only.',
    );
  }
}
