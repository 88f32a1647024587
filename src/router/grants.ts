/**
 * What Chrome does not tell of a folder's grant: whether it is kept (chrome-facts.md, File System Access). A grant that
 * still holds while no page of the extension is open is kept; every other is forgotten by then. So this looks when no page
 * is open, and can send the pages away for a moment in order to look. Pure; the ports reach tabs and the database.
 */
import type { StorageOverview } from '../platform/messages';

export interface OwnTab {
  id: number;
  url: string;
}

export interface GrantPorts {
  /**
   * Asked of the storage worker, which `release` ends: the service worker must not load a handle itself, because it could
   * not let go of it, and a held handle keeps an old grant from being asked for in the right way.
   */
  listStorages(): Promise<StorageOverview[]>;
  noteKept(storage_id: string, kept: boolean): Promise<void>;
  /** The tabs that show a page of the extension. */
  ownTabs(): Promise<OwnTab[]>;
  /** Rejects when the tab is gone. */
  goTo(tab: OwnTab): Promise<void>;
  /** Everybody else lets go of the folders' handles; false while a job needs one. */
  release(): Promise<boolean>;
  /** Which tabs must be brought back; outlives the service worker. */
  remember(tabs: OwnTab[]): Promise<void>;
  recall(): Promise<OwnTab[]>;
  wait(ms: number): Promise<void>;
}

export interface Grants {
  /** Notes what is found to be kept. Nothing while pages are away: that look is under way. */
  look(): Promise<void>;
  /**
   * Sends the pages away and brings them back; `visit` is where the asking page wants to be then. False when they cannot
   * go now, or are away already.
   */
  leave(visit: OwnTab): Promise<boolean>;
  /** Brings back pages that were sent away by a worker that died meanwhile; those this one sent away it brings itself. */
  bringBack(): Promise<void>;
}

/**
 * Where pages wait: of another origin, local, and quiet. `about:blank` would take the origin of the extension that sends a
 * tab there, so that nothing is forgotten, and `data:` addresses are refused.
 */
export const AWAY = 'chrome://newtab/';
/** Chrome forgets grants just after the last page has left, not in the same moment. */
export const GRANTS_SETTLE_MS = 300;
const POLL_MS = 50;
const PATIENCE_MS = 3_000;

export function createGrants(ports: GrantPorts): Grants {
  let isAway = false;
  const areAllGone = async (): Promise<boolean> => (await ports.ownTabs()).length === 0;

  async function unproven(): Promise<string[]> {
    const storages = await ports.listStorages();
    return storages
      .filter(({ permission }) => permission === 'this_session')
      .map(({ storage_id }) => storage_id);
  }

  async function look(): Promise<void> {
    if (isAway || (await unproven()).length === 0 || !(await areAllGone())) return;
    await ports.wait(GRANTS_SETTLE_MS);
    await note();
  }

  async function note(): Promise<void> {
    const kept = await unproven();
    // A page that came meanwhile may have been granted anew.
    if (!(await areAllGone())) return;
    await Promise.all(kept.map((storage_id) => ports.noteKept(storage_id, true)));
  }

  async function bringBack(): Promise<void> {
    const tabs = await ports.recall();
    if (tabs.length === 0) return;
    await ports.remember([]);
    await Promise.all(tabs.map((tab) => ports.goTo(tab).catch(() => undefined)));
  }

  async function leaveAndReturn(tabs: OwnTab[]): Promise<void> {
    try {
      await Promise.all(tabs.map(({ id }) => ports.goTo({ id, url: AWAY }).catch(() => undefined)));
      for (let waited = 0; waited < PATIENCE_MS && !(await areAllGone()); waited += POLL_MS) {
        await ports.wait(POLL_MS);
      }
      await ports.wait(GRANTS_SETTLE_MS);
      // A handle that was loaded while the pages were still there belongs to the old grant.
      await ports.release();
      await note();
    } finally {
      isAway = false;
      await bringBack();
    }
  }

  return {
    look,
    async bringBack() {
      if (!isAway) await bringBack();
    },
    async leave(visit) {
      if (isAway) return false;
      // From here on: a start of this worker may want to bring back what it finds remembered.
      isAway = true;
      let tabs: OwnTab[] | null = null;
      try {
        if (!(await ports.release())) return false;
        const others = (await ports.ownTabs()).filter(({ id }) => id !== visit.id);
        tabs = [...others, visit];
        await ports.remember(tabs);
      } finally {
        if (tabs === null) isAway = false;
      }
      leaveAndReturn(tabs).catch(() => console.error('pages could not be brought back'));
      return true;
    },
  };
}
