/**
 * As much of a browser as the tools use: windows, tabs, their events and captures. It does what Chrome was
 * seen to do, and in that order; how a site answers a navigation is for the test to say.
 */
import type { Browser, Tabs, Windows } from 'webextension-polyfill';
import type { PageCall, PageReply } from '../../../src/page/agent';
import { JPEG, PNG } from './pictures';

type Listener<Args extends unknown[]> = (...args: Args) => void;

export class FakeEvent<Args extends unknown[]> {
  private readonly listeners = new Set<Listener<Args>>();
  /** The filter that came with the last listener. */
  filter: unknown;

  readonly addListener = (listener: Listener<Args>, filter?: unknown): void => {
    this.listeners.add(listener);
    this.filter = filter;
  };
  readonly removeListener = (listener: Listener<Args>): void => {
    this.listeners.delete(listener);
  };
  readonly hasListeners = (): boolean => this.listeners.size > 0;

  emit(...args: Args): void {
    for (const listener of [...this.listeners]) listener(...args);
  }
}

export interface FakeTab extends Tabs.Tab {
  id: number;
  windowId: number;
  url: string;
  /** The page that opened this window and filled it, which has no address of its own; of an opaque origin it is 'null'. */
  maker?: { origin: string; opener: string | null };
}

export interface FakeWindow {
  id: number;
  type: Windows.WindowType;
  state: Windows.WindowState;
  focused: boolean;
}

interface RequestDetails {
  tabId: number;
  requestId: string;
  statusCode?: number;
  error?: string;
  documentLifecycle?: string;
  frameType?: string;
}

/** How a navigation goes on once Chrome has accepted it. */
export type Site = (tab: FakeTab, url: string) => void;

export class FakeChrome {
  readonly windows: FakeWindow[] = [];
  readonly tabs: FakeTab[] = [];
  /** Window ids, the last focused one first. */
  focusOrder: number[] = [];
  /** Calls that change something, as `name(arguments)`. */
  readonly calls: string[] = [];
  site: Site = (tab, url) => this.load(tab, url);
  capture: (windowId: number, details: { format: string; quality?: number }) => Promise<string> = async (
    _windowId,
    { format },
  ) => (format === 'png' ? `data:image/png;base64,${PNG}` : `data:image/jpeg;base64,${JPEG}`);
  /** What the script in the page finds; undefined where no script may run. */
  historyLength: number | undefined = 2;
  readonly onBeforeRequest = new FakeEvent<[RequestDetails]>();
  readonly onResponseStarted = new FakeEvent<[RequestDetails]>();
  readonly onErrorOccurred = new FakeEvent<[RequestDetails]>();
  readonly onUpdated = new FakeEvent<[number, Partial<Tabs.OnUpdatedChangeInfoType>, FakeTab]>();
  readonly onRemoved = new FakeEvent<[number]>();
  readonly onReplaced = new FakeEvent<[number, number]>();
  /** Headless there is none: every window says it has the focus. */
  hasWindowManager = true;
  /** A page that asks the person before it is closed. */
  asksBeforeClosing = false;
  /** The tabs whose page asks now, with the answer of a person who stays. */
  readonly dialogs = new Map<number, () => void>();
  /** A tab that goes as soon as the tabs were asked for. */
  goesAfterQuery: number | null = null;
  private lastId = 100;
  private lastRequest = 0;
  private moment = 0;

  openWindow(urls: string[] = ['https://a.test/'], type: Windows.WindowType = 'normal'): FakeWindow {
    const window: FakeWindow = { id: this.newId(), type, state: 'normal', focused: false };
    this.windows.push(window);
    this.focus(window);
    for (const url of urls) this.addTab(window.id, url);
    const first = this.tabs.find(({ windowId }) => windowId === window.id);
    if (first) this.activate(first.id);
    return window;
  }

  /** As Chrome does: nothing for a window that says it has the focus already. */
  private focus(window: FakeWindow): void {
    if (window.focused) return;
    if (this.hasWindowManager) for (const other of this.windows) other.focused = false;
    window.focused = true;
    this.focusOrder = [window.id, ...this.focusOrder.filter((other) => other !== window.id)];
  }

  addTab(windowId: number, url: string, status: Tabs.TabStatus = 'complete'): FakeTab {
    const tab: FakeTab = {
      id: this.newId(),
      windowId,
      url,
      title: `title of ${url}`,
      status,
      index: this.tabs.filter((other) => other.windowId === windowId).length,
      active: false,
      highlighted: false,
      pinned: false,
      incognito: false,
      discarded: false,
      audible: false,
      lastAccessed: 0,
    };
    this.tabs.push(tab);
    return tab;
  }

  tab(tab_id: number): FakeTab {
    const tab = this.tabs.find(({ id }) => id === tab_id);
    if (!tab) throw new Error(`No tab with id: ${tab_id}.`);
    return tab;
  }

  activate(tab_id: number): void {
    const chosen = this.tab(tab_id);
    for (const tab of this.tabs) if (tab.windowId === chosen.windowId) tab.active = tab === chosen;
    this.moment += 1;
    chosen.lastAccessed = this.moment;
  }

  remove(tab_id: number): void {
    const tab = this.tab(tab_id);
    this.tabs.splice(this.tabs.indexOf(tab), 1);
    if (!this.tabs.some(({ windowId }) => windowId === tab.windowId)) {
      this.windows.splice(
        this.windows.findIndex(({ id }) => id === tab.windowId),
        1,
      );
    }
    this.onRemoved.emit(tab_id);
  }

  /** A main-frame request begins; returns its id. */
  request(tab: FakeTab, requestId = this.newRequestId(), more: Partial<RequestDetails> = {}): string {
    tab.status = 'loading';
    this.onBeforeRequest.emit({ tabId: tab.id, requestId, ...more });
    return requestId;
  }

  respond(tab: FakeTab, requestId: string, statusCode: number): void {
    this.onResponseStarted.emit({ tabId: tab.id, requestId, statusCode });
  }

  breakOff(tab: FakeTab, requestId: string, error: string): void {
    this.onErrorOccurred.emit({ tabId: tab.id, requestId, error });
  }

  commit(tab: FakeTab, url: string): void {
    const changed = tab.url !== url;
    tab.url = url;
    delete tab.pendingUrl;
    this.onUpdated.emit(tab.id, changed ? { status: 'loading', url } : { status: 'loading' }, tab);
  }

  complete(tab: FakeTab): void {
    tab.status = 'complete';
    tab.title = `title of ${tab.url}`;
    this.onUpdated.emit(tab.id, { status: 'complete' }, tab);
  }

  /** Chrome gives a navigation up without a page. */
  giveUp(tab: FakeTab): void {
    delete tab.pendingUrl;
    tab.status = 'complete';
  }

  /** An ordinary load over http. */
  load(tab: FakeTab, url: string, statusCode = 200): void {
    if (url.startsWith('http')) this.respond(tab, this.request(tab), statusCode);
    this.commit(tab, url);
    this.complete(tab);
  }

  private newId(): number {
    this.lastId += 1;
    return this.lastId;
  }

  newRequestId(): string {
    this.lastRequest += 1;
    return String(this.lastRequest);
  }

  private window(window_id: number): FakeWindow {
    const window = this.windows.find(({ id }) => id === window_id);
    if (!window) throw new Error(`No window with id: ${window_id}.`);
    return window;
  }

  private start(tab: FakeTab, url: string): FakeTab {
    tab.pendingUrl = url;
    tab.status = 'loading';
    const answer = { ...tab };
    // Chrome answers the call first; the events come afterwards.
    setImmediate(() => this.site(tab, url));
    return answer;
  }

  private note(name: string, ...args: unknown[]): void {
    this.calls.push(`${name}(${args.map((arg) => JSON.stringify(arg)).join(', ')})`);
  }

  private step(name: string, tab_id: number): void {
    this.note(name, tab_id);
    const tab = this.tab(tab_id);
    setImmediate(() => this.site(tab, tab.url));
  }

  get browser(): Browser {
    const fake = {
      i18n: { getUILanguage: () => 'ko-KR' },
      windows: {
        get: (id: number) => {
          refuseNoInt32(id);
          return (async () => ({ ...this.window(id) }))();
        },
        getAll: async () =>
          this.windows.map((window) => ({
            ...window,
            tabs: this.tabs.filter((tab) => tab.windowId === window.id),
          })),
        getLastFocused: async ({ windowTypes }: { windowTypes: string[] }) => {
          const id = this.focusOrder.find((one) =>
            this.windows.some((window) => window.id === one && windowTypes.includes(window.type)),
          );
          if (id === undefined) throw new Error('No last-focused window');
          return { ...this.window(id) };
        },
        create: async (details: { url: string; focused: boolean }) => {
          this.note('windows.create', details);
          const window = this.openWindow([]);
          const tab = this.addTab(window.id, '');
          this.activate(tab.id);
          return { ...window, tabs: [this.start(tab, details.url)] };
        },
        update: async (id: number, change: { state?: Windows.WindowState; focused?: boolean }) => {
          this.note('windows.update', id, change);
          const window = this.window(id);
          if (change.state) window.state = change.state;
          if (change.focused === false) window.focused = false;
          if (change.focused) this.focus(window);
        },
      },
      tabs: {
        get: (id: number) => {
          refuseNoInt32(id);
          return (async () => ({ ...this.tab(id) }))();
        },
        query: async ({ active, windowId }: { active?: boolean; windowId?: number }) => {
          if (windowId !== undefined) refuseNoInt32(windowId);
          const found = this.tabs
            .filter((tab) => active === undefined || tab.active === active)
            .filter((tab) => windowId === undefined || tab.windowId === windowId)
            .map((tab) => ({ ...tab }));
          if (this.goesAfterQuery !== null) this.remove(this.goesAfterQuery);
          this.goesAfterQuery = null;
          return found;
        },
        create: async (details: { url?: string; windowId: number; active: boolean }) => {
          this.note('tabs.create', details);
          this.window(details.windowId);
          const tab = this.addTab(details.windowId, '');
          if (details.active) this.activate(tab.id);
          return this.start(tab, details.url ?? 'chrome://newtab/');
        },
        update: async (id: number, change: { url?: string; active?: boolean }) => {
          this.note('tabs.update', id, change);
          const tab = this.tab(id);
          if (change.active) this.activate(id);
          return change.url === undefined ? { ...tab } : this.start(tab, change.url);
        },
        remove: async (id: number) => {
          this.note('tabs.remove', id);
          this.tab(id);
          // Told a second time while the page asks, Chrome closes it over the head of the person.
          if (!this.asksBeforeClosing || this.dialogs.has(id)) this.remove(id);
          else this.dialogs.set(id, () => this.dialogs.delete(id));
        },
        reload: async (id: number) => this.step('tabs.reload', id),
        goBack: async (id: number) => {
          this.note('tabs.goBack', id);
          throw new Error('Cannot find a next page in history.');
        },
        goForward: async (id: number) => {
          this.note('tabs.goForward', id);
          throw new Error('Cannot find a next page in history.');
        },
        captureVisibleTab: (windowId: number, details: { format: string; quality?: number }) => {
          this.note('captureVisibleTab', windowId, details);
          return this.capture(windowId, details);
        },
        onUpdated: this.onUpdated,
        onRemoved: this.onRemoved,
        onReplaced: this.onReplaced,
      },
      webNavigation: {
        getAllFrames: async ({ tabId }: { tabId: number }) => [
          { frameId: 0, parentFrameId: -1, documentId: `document-${tabId}`, url: this.tab(tabId).url },
        ],
      },
      scripting: {
        executeScript: async ({
          target,
          args,
        }: {
          target: { tabId: number };
          args?: [number | PageCall];
        }) => {
          if (typeof args?.[0] === 'object')
            return [{ frameId: 0, result: this.agent(target.tabId, args[0]) }];
          if (this.dialogs.has(target.tabId)) {
            await new Promise<void>((resolve) => {
              this.dialogs.set(target.tabId, () => {
                this.dialogs.delete(target.tabId);
                resolve();
              });
            });
          }
          if (!args) return [{ frameId: 0, result: null }];
          if (this.historyLength === undefined) throw new Error('Cannot access contents of the page.');
          this.step(`history.go:${args[0]}`, target.tabId);
          return [{ frameId: 0, result: this.historyLength }];
        },
      },
      webRequest: {
        onBeforeRequest: this.onBeforeRequest,
        onResponseStarted: this.onResponseStarted,
        onErrorOccurred: this.onErrorOccurred,
      },
    };
    return fake as unknown as Browser;
  }

  /** The page agent in a window that a page filled; Chrome lets no script into one that nobody did. */
  private agent(tab_id: number, call: PageCall): PageReply {
    const { maker, url } = this.tab(tab_id);
    if (!maker) throw new Error('Cannot access contents of the page.');
    if (call.url === url && call.origin === maker.origin) return { reply: 'done', url, result: {} };
    return { reply: 'moved', url, referrer: '', base: null, ...maker };
  }
}

/** Chrome's own check of its arguments: it throws at once where everything else rejects. */
function refuseNoInt32(id: number): void {
  if ((id | 0) !== id) throw new TypeError('Error in invocation: Integer is out of range.');
}
