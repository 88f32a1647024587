/** As much of a browser as reading pages needs: tabs, the frames in them, and what each document answers. */
import type { Browser, Scripting, Tabs } from 'webextension-polyfill';
import type { PageCall, PageReply } from '../../../src/page/agent';
import type { PageText } from '../../../src/page/snapshot';
import { createTextShelf } from '../../../src/tools/text-shelf';
import type { ToolContext } from '../../../src/tools/tool';
import { FakeClock } from '../router/fake-clock';
import { MemoryStorage } from './memory-storage';

export interface FakeDocument {
  frame_id: number;
  parent_frame_id: number;
  document_id: string;
  url: string;
  errorOccurred?: boolean;
  lifecycle?: string;
  /** The address scripts in it see, when it is another than Chrome committed. */
  location?: string;
  /** Whose content it shows, when its address does not tell; opaque when left out. */
  origin?: string;
  opener?: string;
  referrer?: string;
  base?: string;
  hasAgent?: boolean;
  /** Nothing in it ever answers. */
  hangs?: boolean;
  /** Chrome lets no script in. */
  refuses?: boolean;
  /** What the page agent's command returns. */
  answer: (call: PageCall) => unknown;
}

export function textOf(text: string, more: Partial<PageText> = {}): PageText {
  return { parts: [text], holes: [], title: 'title', content_type: 'text/html', place: -1, ...more };
}

export class FakePages {
  readonly clock = new FakeClock();
  readonly storage = new MemoryStorage();
  readonly abort = new AbortController();
  documents: FakeDocument[] = [];
  tab: Tabs.Tab & { frozen?: boolean } = {
    id: 7,
    windowId: 1,
    index: 0,
    active: true,
    highlighted: true,
    pinned: false,
    incognito: false,
    url: 'https://a.test/',
    title: 'A',
    status: 'complete',
  };
  tabIsGone = false;
  closed: (url: string) => boolean = () => false;
  readonly injections: string[] = [];
  private ids = 0;

  add(document: Partial<FakeDocument> = {}): FakeDocument {
    this.ids += 1;
    const added: FakeDocument = {
      frame_id: this.documents.length,
      parent_frame_id: this.documents.length === 0 ? -1 : 0,
      document_id: `${this.ids.toString(16).padStart(12, '0')}0000000000000000AAAA`,
      url: 'https://a.test/',
      answer: () => textOf('text'),
      ...document,
    };
    this.documents.push(added);
    return added;
  }

  readonly context = {
    request_id: 'request',
    signal: this.abort.signal,
    deadline: this.clock.now() + 60_000,
    now: this.clock.now,
    setTimer: this.clock.setTimer,
    urls: { mayEnter: (url: string) => !this.closed(url) },
    facts: { version: '1.2.3' },
    texts: createTextShelf({
      storage: this.storage.area,
      now: this.clock.now,
      newId: () => `text-${++this.ids}`,
    }),
    browser: {
      tabs: {
        get: async (id: number) => {
          if (this.tabIsGone || id !== this.tab.id) throw new Error('No tab with id');
          return { ...this.tab };
        },
        query: async () => [{ ...this.tab }],
      },
      windows: { getLastFocused: async () => ({ id: 1 }) },
      webNavigation: { getAllFrames: async () => this.frames() },
      scripting: { executeScript: (injection: Scripting.ScriptInjection) => this.execute(injection) },
    } as unknown as Browser,
  } as unknown as ToolContext;

  private frames(): object[] {
    return this.documents.map((document) => ({
      frameId: document.frame_id,
      parentFrameId: document.parent_frame_id,
      documentId: document.document_id,
      documentLifecycle: document.lifecycle ?? 'active',
      url: document.url,
      errorOccurred: document.errorOccurred ?? false,
    }));
  }

  private async execute({ target, files, args }: Scripting.ScriptInjection): Promise<object[]> {
    const [id] = target.documentIds ?? [];
    const document = this.documents.find(({ document_id }) => document_id === id);
    this.injections.push(`${id} ${files ? files.join() : 'call'}`);
    if (!document || document.refuses) throw new Error('foreign text that is not passed on');
    if (document.hangs) return new Promise(() => {});
    if (files) {
      document.hasAgent = true;
      return [{ frameId: document.frame_id, documentId: id, result: undefined }];
    }
    const result = document.hasAgent ? this.reply(document, args?.[0] as PageCall) : { reply: 'absent' };
    return [{ frameId: document.frame_id, documentId: id, result }];
  }

  private reply(document: FakeDocument, call: PageCall): PageReply {
    const url = document.location ?? document.url;
    const origin = document.origin ?? new URL(url).origin;
    if (call.url !== url || (call.origin !== '' && call.origin !== origin)) {
      const { opener = null, referrer = '', base = null } = document;
      return { reply: 'moved', url, origin, opener, referrer, base };
    }
    const result = document.answer(call);
    return { reply: 'done', url: document.location ?? document.url, result };
  }
}
