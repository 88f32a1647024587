import { beforeEach, describe, expect, it } from 'vitest';
import type { StorageOverview } from '../../../src/platform/messages';
import { AWAY, createGrants, type GrantPorts, type OwnTab } from '../../../src/router/grants';

const PAGE = 'chrome-extension://x/storages.html';

/** Chrome, as chrome-facts.md says: what is not kept is forgotten a little after the last page left. */
class FakeChrome implements GrantPorts {
  tabs: OwnTab[] = [];
  /** Tabs that are gone are not here. */
  all = new Map<number, string>();
  granted = new Map<string, { kept: boolean; noted: boolean }>();
  busy = false;
  remembered: OwnTab[] = [];
  log: string[] = [];
  clock = 0;
  #goneSince: number | null = 0;
  /** Called at each wait. */
  meanwhile = (): void => {};

  open(id: number, url: string): void {
    this.all.set(id, url);
    this.#turn();
  }

  #turn(): void {
    const isAway = ![...this.all.values()].some((url) => url.startsWith(PAGE));
    this.#goneSince = isAway ? (this.#goneSince ?? this.clock) : null;
  }

  async listStorages(): Promise<StorageOverview[]> {
    const forgets = this.#goneSince !== null && this.clock - this.#goneSince >= 100;
    if (forgets) for (const [id, { kept }] of this.granted) if (!kept) this.granted.delete(id);
    return ['s1', 's2'].map((storage_id) => {
      const grant = this.granted.get(storage_id);
      const permission = grant ? (grant.noted ? 'kept' : 'this_session') : 'lost';
      return {
        storage_id,
        name: storage_id,
        backing: 'folder',
        permission,
        managed: false,
      } as StorageOverview;
    });
  }

  async noteKept(storage_id: string, kept: boolean): Promise<void> {
    this.log.push(`${storage_id} ${kept}`);
    const grant = this.granted.get(storage_id);
    if (grant) grant.noted = kept;
  }

  async ownTabs(): Promise<OwnTab[]> {
    return [...this.all].filter(([, url]) => url.startsWith(PAGE)).map(([id, url]) => ({ id, url }));
  }

  async goTo({ id, url }: OwnTab): Promise<void> {
    if (!this.all.has(id)) throw new Error('no such tab');
    this.open(id, url);
    this.log.push(`tab ${id} to ${url}`);
  }

  async release(): Promise<boolean> {
    this.log.push('release');
    return !this.busy;
  }

  async remember(tabs: OwnTab[]): Promise<void> {
    this.remembered = tabs;
  }

  async recall(): Promise<OwnTab[]> {
    return this.remembered;
  }

  async wait(ms: number): Promise<void> {
    this.clock += ms;
    this.meanwhile();
  }
}

let chrome: FakeChrome;
const grants = () => createGrants(chrome);
const settled = () => new Promise((resolve) => setTimeout(resolve, 0));

beforeEach(() => {
  chrome = new FakeChrome();
});

describe('which grants are kept', () => {
  it('what still holds when no page is open is kept', async () => {
    chrome.granted.set('s1', { kept: true, noted: false });
    await grants().look();
    expect(chrome.log).toEqual(['s1 true']);
  });

  it('what Chrome forgets with the last page is not, also when one looks at once', async () => {
    chrome.open(1, PAGE);
    chrome.granted.set('s1', { kept: false, noted: false });
    chrome.open(1, AWAY);
    await grants().look();
    expect(chrome.log).toEqual([]);
    expect((await chrome.listStorages())[0]?.permission).toBe('lost');
  });

  it('while a page is open nothing is known', async () => {
    chrome.open(1, PAGE);
    chrome.granted.set('s1', { kept: true, noted: false });
    await grants().look();
    expect(chrome.log).toEqual([]);
  });

  it('a page that opens while one looks makes it unknown again', async () => {
    chrome.granted.set('s1', { kept: true, noted: false });
    chrome.meanwhile = () => chrome.open(1, PAGE);
    await grants().look();
    expect(chrome.log).toEqual([]);
  });
});

describe('leaving and coming back', () => {
  it('all pages go, what is kept is noted, all come back, the asking one at its new place', async () => {
    chrome.open(1, `${PAGE}#old`);
    chrome.open(2, `${PAGE}?other`);
    chrome.granted.set('s1', { kept: true, noted: false });
    chrome.granted.set('s2', { kept: false, noted: false });
    expect(await grants().leave({ id: 1, url: `${PAGE}#check=s1` })).toBe(true);
    await settled();
    expect(chrome.log).toEqual([
      'release',
      `tab 2 to ${AWAY}`,
      `tab 1 to ${AWAY}`,
      // Only now is nobody there who could keep an old grant alive.
      'release',
      's1 true',
      `tab 2 to ${PAGE}?other`,
      `tab 1 to ${PAGE}#check=s1`,
    ]);
    expect(chrome.granted.has('s2')).toBe(false);
    expect(chrome.remembered).toEqual([]);
  });

  it('nobody leaves while a job needs a folder', async () => {
    chrome.open(1, PAGE);
    chrome.busy = true;
    expect(await grants().leave({ id: 1, url: PAGE })).toBe(false);
    await settled();
    expect(chrome.log).toEqual(['release']);
  });

  it('a tab that was closed meanwhile keeps no other from coming back', async () => {
    chrome.open(1, PAGE);
    chrome.open(2, PAGE);
    chrome.meanwhile = () => chrome.all.delete(2);
    await grants().leave({ id: 1, url: PAGE });
    await settled();
    expect(chrome.all).toEqual(new Map([[1, PAGE]]));
  });

  it('a page that will not go: nothing is noted, and all is brought back', async () => {
    chrome.open(1, PAGE);
    chrome.granted.set('s1', { kept: true, noted: false });
    chrome.meanwhile = () => chrome.open(3, PAGE);
    await grants().leave({ id: 1, url: PAGE });
    await settled();
    expect(chrome.log.filter((line) => line.startsWith('s1'))).toEqual([]);
    expect(chrome.all.get(1)).toBe(PAGE);
  });

  it('a worker that starts with its pages away, as one in a browser that just opened, leaves them away', async () => {
    chrome.open(1, PAGE);
    chrome.granted.set('s1', { kept: true, noted: false });
    const started = grants();
    let starts = 0;
    chrome.meanwhile = () => {
      starts += 1;
      void started.bringBack();
    };
    await started.leave({ id: 1, url: `${PAGE}#check=s1` });
    await settled();
    expect(starts).toBeGreaterThan(0);
    expect(chrome.log.filter((line) => line.startsWith('s1'))).toEqual(['s1 true']);
    expect(chrome.all.get(1)).toBe(`${PAGE}#check=s1`);
  });

  it('two pages that want to leave at once: one of them is told that it cannot', async () => {
    chrome.open(1, PAGE);
    chrome.open(2, PAGE);
    const both = grants();
    const left = await Promise.all([
      both.leave({ id: 1, url: `${PAGE}#check=s1` }),
      both.leave({ id: 2, url: `${PAGE}#check=s2` }),
    ]);
    await settled();
    expect(left).toEqual([true, false]);
    expect(chrome.all.get(1)).toBe(`${PAGE}#check=s1`);
    expect(await both.leave({ id: 2, url: `${PAGE}#check=s2` })).toBe(true);
  });

  it('a worker that died with the pages away: the next one brings them back', async () => {
    chrome.open(1, AWAY);
    chrome.remembered = [{ id: 1, url: PAGE }];
    await grants().bringBack();
    await grants().bringBack();
    expect(chrome.log).toEqual([`tab 1 to ${PAGE}`]);
  });
});
