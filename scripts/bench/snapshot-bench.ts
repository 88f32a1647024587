/**
 * `page_snapshot` beside Playwright's aria snapshot (the mode with references) of the same pages in the same
 * browser, by turns: the size of the text and the time until it is there. Ours goes the whole way: command, relay,
 * extension, page and back; Playwright's over its own connection. Prints a table.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { chromium, type Page } from 'playwright-core';
import type { JsonObject } from '../../src/protocol/json';
import { call, openTab } from '../../test/browser/harness/tool-calls';
import { until } from '../../test/browser/harness/until';
import { createWorld, type World } from '../../test/browser/harness/world';
import { buildExtension } from '../build.mjs';
import { median, sampleByTurns } from './samples';

const PAGES = fileURLToPath(new URL('../../test/browser/fixtures/pages', import.meta.url));
const ROUNDS = 7;
const LARGE_ROUNDS = 3;

const LARGE = `<!doctype html><title>50 000 elements</title><script>
let rows = '';
for (let i = 0; i < 12500; i++) rows += '<div><span>row ' + i + '</span> <a href="/' + i + '">link ' + i + '</a><button>b</button></div>';
document.write(rows)</script>`;

interface Measured {
  page: string;
  our_bytes: number;
  their_bytes: number;
  our_ms: number;
  their_ms: number;
}

/** The whole outline, over as many answers as it takes. */
async function ours(world: World, tab_id: number): Promise<string> {
  let output: JsonObject = await call(world, 'page_snapshot', { tab_id });
  let whole = output.snapshot as string;
  while (output.next) {
    output = await call(world, 'page_snapshot', { next: output.next });
    whole += output.snapshot as string;
  }
  return whole;
}

async function measure(world: World, pages: () => Page[], path: string, rounds: number): Promise<Measured> {
  const tab_id = await openTab(world, path);
  const theirs = await until('the other client sees the page', () =>
    pages().find((page) => page.url() === world.site.url(path)),
  );
  const texts = { ours: '', theirs: '' };
  const things = {
    ours: async () => {
      texts.ours = await ours(world, tab_id);
    },
    theirs: async () => {
      texts.theirs = await theirs.ariaSnapshot({ mode: 'ai' });
    },
  };
  await sampleByTurns(things, 1);
  const samples = await sampleByTurns(things, rounds);
  await call(world, 'tab_close', { tab_id });
  return {
    page: path.slice(1),
    our_bytes: Buffer.byteLength(texts.ours),
    their_bytes: Buffer.byteLength(texts.theirs),
    our_ms: median(samples.ours),
    their_ms: median(samples.theirs),
  };
}

function table(rows: readonly Measured[]): string {
  const lines = rows.map(({ page, our_bytes, their_bytes, our_ms, their_ms }) => {
    const size = (our_bytes / their_bytes).toFixed(2);
    const time = (our_ms / their_ms).toFixed(2);
    return `| ${page} | ${our_bytes} | ${their_bytes} | ${size}× | ${our_ms.toFixed(1)} ms | ${their_ms.toFixed(1)} ms | ${time}× |`;
  });
  return [
    '| page | `page_snapshot`, bytes | Playwright, bytes | ratio | `page_snapshot` | Playwright | ratio |',
    '| --- | --- | --- | --- | --- | --- | --- |',
    ...lines,
  ].join('\n');
}

async function main(): Promise<void> {
  await buildExtension({ quiet: true });
  const world = await createWorld();
  const other = await chromium.connectOverCDP(world.browser.debuggerUrl);
  const pages = (): Page[] => other.contexts().flatMap((context) => context.pages());
  try {
    const rows: Measured[] = [];
    for (const name of readdirSync(PAGES).sort()) {
      world.site.serve(`/${name}`, readFileSync(`${PAGES}/${name}`, 'utf8'));
      rows.push(await measure(world, pages, `/${name}`, ROUNDS));
    }
    world.site.serve('/50000-elements', LARGE);
    rows.push(await measure(world, pages, '/50000-elements', LARGE_ROUNDS));
    console.log(table(rows));
  } finally {
    await other.close();
    await world[Symbol.asyncDispose]();
  }
}

main().then(
  () => process.exit(0),
  (error: unknown) => {
    console.error(error instanceof Error ? error.message : String(error));
    process.exit(1);
  },
);
