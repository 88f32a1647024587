/** A tool's surroundings over the false browser, with the real queue, store and load watch. */

import { osInterface } from '../../../scripts/os-interface';
import type { StorageOverview } from '../../../src/platform/messages';
import { createCaptureQueue } from '../../../src/tools/capture-queue';
import { createConsoleCapture } from '../../../src/tools/console-capture';
import { createConsoleStore } from '../../../src/tools/console-store';
import { createLoadWatch } from '../../../src/tools/load-watch';
import { createPictureStore } from '../../../src/tools/picture-store';
import type { Reencode } from '../../../src/tools/re-encode';
import { findTool, TOOLS } from '../../../src/tools/registry';
import { createTextShelf } from '../../../src/tools/text-shelf';
import type { ToolContext, ToolResult } from '../../../src/tools/tool';
import { createVisibleCapture } from '../../../src/tools/visible-capture';
import { FakeClock } from '../router/fake-clock';
import { pass } from './async-clock';
import { FakeChrome, FakeEvent } from './fake-chrome';
import { MemoryStorage } from './memory-storage';
import { bytesOf, JPEG, PNG, WEBP } from './pictures';

const PICTURES: Record<string, string> = { 'image/jpeg': JPEG, 'image/png': PNG, 'image/webp': WEBP };

export class Rig {
  readonly clock = new FakeClock();
  readonly chrome = new FakeChrome();
  readonly reencoded: Parameters<Reencode>[1][] = [];
  /** Of the tabs whose consoles said something. */
  readonly news = new FakeEvent<[number]>();
  clipboard: string | null = null;
  abort = new AbortController();
  /** What was handed to the storage worker. */
  readonly jobs: { tool: string; input: object }[] = [];
  /** What is attached; null: the storage worker does not answer. */
  storages: StorageOverview[] | null = [];
  context: ToolContext;
  private ids = 0;

  constructor() {
    const { browser } = this.chrome;
    const { now, setTimer } = this.clock;
    const captureVisible = createVisibleCapture(browser, now);
    this.context = {
      platform: 'https://relay.test',
      request_id: 'request',
      signal: this.abort.signal,
      deadline: now() + 60_000,
      now,
      progress: () => {},
      browser,
      facts: {
        version: '1.2.3',
        browser_name: 'Chrome',
        browser_version: '150.0.1.2',
        os: 'linux',
        arch: 'x86_64',
      },
      policy: { managed: false, asked_tools: new Set(), blocked_tools: new Set() },
      urls: { mayEnter: () => true },
      captures: createCaptureQueue({ now, setTimer, captureVisible }),
      pictures: createPictureStore({ now, newId: () => `image-${this.nextId()}`, setTimer }),
      loads: createLoadWatch({ browser, now, setTimer }),
      reencode: async (_picture, encoding) => {
        this.reencoded.push(encoding);
        return new Blob([bytesOf(PICTURES[encoding.mime_type] ?? '')], { type: encoding.mime_type });
      },
      storage: {
        run: async (tool, input) => {
          this.jobs.push({ tool, input });
          return { output: { done: tool } };
        },
        list: async () => this.storages,
      },
      host: null,
      console: createConsoleCapture({
        browser,
        store: createConsoleStore({ sessionEpoch: async () => 'epoch', now }),
        now,
        setTimer,
        onNews: (hear) => {
          this.news.addListener(hear);
          return () => this.news.removeListener(hear);
        },
      }),
      writeClipboard: async (text) => {
        this.clipboard = text;
        return true;
      },
      osInterface: async () => osInterface(TOOLS),
      wait: (ms) => new Promise((resolve) => setTimer(() => resolve(), ms)),
      setTimer,
      texts: createTextShelf({
        storage: new MemoryStorage().area,
        now,
        newId: () => `text-${this.nextId()}`,
      }),
      screen: { width: 1920, height: 1080, scale: 2 },
    };
  }

  private nextId(): number {
    this.ids += 1;
    return this.ids;
  }

  /** Runs a tool while the clock moves on; rejects as the tool does. */
  async call(name: string, input: object = {}, within_ms = 20_000): Promise<ToolResult> {
    const tool = findTool(name);
    if (!tool) throw new Error(`no tool ${name}`);
    let settled = false;
    const context = { ...this.context, signal: AbortSignal.any([this.abort.signal]) };
    const looked = Promise.resolve(tool.look?.({ ...input }, context.browser));
    looked.catch(() => {});
    const running = tool.run({ ...input }, context, looked).finally(() => {
      settled = true;
    });
    running.catch(() => {});
    for (let waited = 0; !settled && waited < within_ms; waited += 50) await pass(this.clock, 50);
    if (!settled) throw new Error(`${name} has no answer after ${within_ms} ms`);
    return running;
  }

  /** The same for what must fail: the code and the sentence. */
  async fail(
    name: string,
    input: object = {},
    within_ms?: number,
  ): Promise<{ code: string; message: string }> {
    const result = await this.call(name, input, within_ms).catch((thrown: unknown) => thrown);
    if (!(result instanceof Error && 'code' in result))
      throw new Error(`did not fail: ${JSON.stringify(result)}`);
    return { code: String(result.code), message: result.message };
  }
}
