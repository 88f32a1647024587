/**
 * Runs each tool once in a real Chromium through the platform's stand-in, and writes down what it answered:
 * `npm run build && npx tsx scripts/record-examples.ts`. With names, records those tools alone.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { JsonObject } from '../src/protocol/json';
import { TOOLS } from '../src/tools/registry';
import { createWorld, type World } from '../test/browser/harness/world';
import { EXAMPLES_FILE, readExamples } from './generated-files';
import type { ToolExample } from './tool-docs';

/** What a tool is asked; it may first bring about what there is to see. */
type Scene = (stage: Stage) => JsonObject | Promise<JsonObject>;

interface Stage {
  /** The address of a page with something on it. */
  page: string;
  /** Calls another tool. */
  call(command: string, input?: JsonObject): Promise<JsonObject>;
  /** Opens the page in a new tab. */
  open(active?: boolean): Promise<number>;
}

const PAGE = `<!doctype html><html lang="en"><title>Garden plan</title>
<script>console.log('The plan has', 3, 'beds'); console.warn('The tomatoes are late', { days: 9 })</script>
<h1>Garden plan</h1><p>Tomatoes, beans, and a bed that is left alone.</p></html>`;

const SCENES: Record<string, Scene> = {
  describe_tools: () => ({}),
  workspace_info: () => ({}),
  screenshot: async ({ open }) => {
    await open(true);
    return { deliver_image: true, max_width: 640 };
  },
  tab_list: async ({ open }) => {
    await open(true);
    return {};
  },
  tab_open: ({ page }) => ({ url: page }),
  tab_close: async ({ open }) => ({ tab_id: await open() }),
  tab_activate: async ({ open }) => ({ tab_id: await open() }),
  tab_navigate: async ({ open, page }) => ({ tab_id: await open(), url: `${page}#beds` }),
  console_read: async ({ open, call }) => {
    const tab_id = await open();
    await call('console_read', { tab_id });
    await call('tab_navigate', { tab_id, action: 'reload' });
    return { tab_id };
  },
  console_watch: async ({ open, call }) => {
    const tab_id = await open();
    const { after = 0 } = await call('console_read', { tab_id });
    await call('tab_navigate', { tab_id, action: 'reload' });
    return { tab_id, after, levels: ['warn', 'error'] };
  },
  download_start: () => ({
    url: 'data:text/csv,bed,plant%0A1,tomato%0A',
    filename: 'garden/beds.csv',
    wait: true,
  }),
  download_list: () => ({ limit: 1 }),
  clipboard_write: () => ({ text: 'Tomatoes, beans' }),
  notify: () => ({ title: 'The plan is ready', message: 'Three beds, two of them planted.' }),
  os_capabilities: () => ({}),
  os_execute: async ({ open, page }) => ({
    type: 'tab.navigate',
    input: { tab_id: await open(), url: page },
  }),
};

async function main(): Promise<void> {
  const names = process.argv.slice(2);
  const wanted = TOOLS.map(({ name }) => name).filter((name) => names.length === 0 || names.includes(name));
  const lacking = wanted.filter((name) => !SCENES[name]);
  // Chrome downloads into the home of whoever starts it.
  const home = mkdtempSync(join(tmpdir(), 'endue-home-'));
  process.env.HOME = home;
  await using world = await createWorld({ browser: { language: 'en-US' } });
  world.site.serve('/garden', PAGE);
  const recorded: Record<string, ToolExample> = { ...readExamples() };
  for (const name of wanted) {
    const scene = SCENES[name];
    if (scene) recorded[name] = await record(world, name, scene);
  }
  const ordered = TOOLS.flatMap(({ name }) => (recorded[name] ? [[name, recorded[name]]] : []));
  writeFileSync(EXAMPLES_FILE, steady(`${JSON.stringify(Object.fromEntries(ordered), null, 2)}\n`, world));
  rmSync(home, { recursive: true, force: true });
  console.log(`${ordered.length} examples`);
  if (lacking.length > 0) throw new Error(`No scene for: ${lacking.join(', ')}`);
}

async function record(world: World, name: string, scene: Scene): Promise<ToolExample> {
  const call = async (command: string, input: JsonObject = {}): Promise<JsonObject> => {
    const answer = await world.relay.command(world.device, { command, input });
    if (answer.status === 'error') throw new Error(`${command}: ${answer.error_code}: ${answer.error}`);
    return answer.output ?? {};
  };
  const page = world.site.url('/garden');
  const input = await scene({
    page,
    call,
    open: async (active = false) => (await call('tab_open', { url: page, active })).tab_id as number,
  });
  return { input, output: await call(name, input) };
}

/** The port is another one each time. */
function steady(text: string, { site }: World): string {
  return text.replaceAll(`127.0.0.1:${site.port}`, 'garden.example');
}

main().then(
  () => process.exit(0),
  (error: unknown) => {
    console.error(error instanceof Error ? error.message : String(error));
    process.exit(1);
  },
);
