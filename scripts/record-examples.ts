/**
 * Runs each tool once in a real Chromium through the platform's stand-in, and writes down what it answered:
 * `npm run build && npx tsx scripts/record-examples.ts`. With names, records those tools alone.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { JsonObject, JsonValue } from '../src/protocol/json';
import { findTool, TOOLS } from '../src/tools/registry';
import { attachBrowserStorage } from '../test/browser/harness/storages';
import { createWorld, type World } from '../test/browser/harness/world';
import { EXAMPLES_FILE, readExamples } from './generated-files';
import type { ToolExample } from './tool-docs';

/** What a tool is asked; it may first bring about what there is to see. */
type Scene = (stage: Stage) => JsonObject | Promise<JsonObject>;

interface Stage {
  /** The address of a page with something on it. */
  page: string;
  /** Of the one Storage that is attached. */
  token: string;
  /** Calls another tool. */
  call(command: string, input?: JsonObject): Promise<JsonObject>;
  /** Opens the page in a new tab. */
  open(active?: boolean): Promise<number>;
  /** Opens a page with a form in a new tab. */
  openForm(): Promise<number>;
  /** Writes a file into the Storage. */
  write(path: string, text: string): Promise<JsonObject>;
}

const STORAGE_ID = 'garden';

const PAGE = `<!doctype html><html lang="en"><title>Garden plan</title>
<script>console.log('The plan has', 3, 'beds'); console.warn('The tomatoes are late', { days: 9 })</script>
<h1>Garden plan</h1><p>Tomatoes, beans, and a bed that is left alone.</p></html>`;

const FORM = `<!doctype html><html lang="en"><title>Seed order</title>
<style>body { min-height: 2000px }</style>
<h1>Seed order</h1>
<form><p><label>Name <input name="name" required></label></p>
<p><label>Seeds <select name="seeds"><option value="tomato">Tomatoes</option><option value="bean">Beans</option></select></label></p>
<p><label><input type="checkbox" name="gift"> As a gift</label></p>
<p><button>Order</button> <a href="/garden" id="plan">The plan</a></p></form>
<p role="status"></p>
<script>
const form = document.querySelector('form');
const say = (text) => { document.querySelector('[role=status]').textContent = text; };
form.addEventListener('submit', (event) => {
  event.preventDefault();
  say('Thank you, ' + form.elements.name.value + '.');
});
form.elements.seeds.addEventListener('mouseover', () => say('Tomatoes like the sun.'));
</script></html>`;

/** A green dot. */
const PICTURE =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGPQ6w4HAAH7ARF0JhTpAAAAAElFTkSuQmCC';

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
  page_snapshot: async ({ openForm }) => ({ tab_id: await openForm() }),
  page_text: async ({ open }) => ({ tab_id: await open() }),
  page_click: async ({ openForm, call }) => {
    const tab_id = await openForm();
    await call('page_fill', { tab_id, selector: '[name=name]', value: 'Ada' });
    const { snapshot } = await call('page_snapshot', { tab_id });
    return { tab_id, ref: refOf('button "Order"', snapshot) };
  },
  page_fill: async ({ openForm }) => ({ tab_id: await openForm(), selector: '[name=name]', value: 'Ada' }),
  page_select: async ({ openForm }) => ({ tab_id: await openForm(), selector: 'select', label: 'Beans' }),
  page_press: async ({ openForm, call }) => {
    const tab_id = await openForm();
    await call('page_fill', { tab_id, selector: '[name=name]', value: 'Ada' });
    return { tab_id, selector: '[name=name]', key: 'Enter' };
  },
  page_hover: async ({ openForm }) => ({ tab_id: await openForm(), selector: 'select' }),
  page_scroll: async ({ openForm }) => ({ tab_id: await openForm(), to: 'bottom' }),
  page_wait: async ({ openForm, call }) => {
    const tab_id = await openForm();
    await call('page_click', { tab_id, selector: '#plan' });
    return { tab_id, text: 'a bed that is left alone', url: '*/garden', idle: 'load' };
  },
  page_evaluate: async ({ openForm }) => ({
    tab_id: await openForm(),
    expression: '[...document.querySelectorAll("option")].map(({ value, text }) => ({ value, text }))',
  }),
  file_list: async ({ write }) => {
    await write('notes/today.md', '# Today\n\nWater the beans.\n');
    return { path: '', recursive: true };
  },
  file_stat: async ({ write }) => {
    await write('notes/today.md', '# Today\n\nWater the beans.\n');
    return { path: 'notes/today.md', hash: true };
  },
  file_read_text: async ({ write }) => {
    await write('notes/today.md', '# Today\n\nWater the beans.\n');
    return { path: 'notes/today.md' };
  },
  file_read_image: async ({ call }) => {
    await call('file_write', { path: 'pictures/dot.png', base64: PICTURE });
    return { path: 'pictures/dot.png' };
  },
  file_write: () => ({ path: 'notes/tomorrow.md', text: '# Tomorrow\n\nPlant the tomatoes.\n' }),
  file_move: async ({ write }) => {
    await write('draft.md', 'A draft.\n');
    return { path: 'draft.md', to: 'notes/draft.md' };
  },
  file_remove: async ({ write }) => {
    await write('old/one.md', 'One.\n');
    await write('old/two.md', 'Two.\n');
    return { path: 'old', recursive: true };
  },
  workspace_storage_path: async ({ write, token }) => {
    await write('plan/beds.csv', 'bed,plant\n1,tomato\n');
    return { mode: 'save_path', storage_id: STORAGE_ID, path: 'plan', token };
  },
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
  const storage_directory = mkdtempSync(join(tmpdir(), 'endue-storage-'));
  await using world = await createWorld({ browser: { language: 'en-US' }, relay: { storage_directory } });
  world.site.serve('/garden', PAGE);
  world.site.serve('/garden/order', FORM);
  await world.relay.storage.createStorage(STORAGE_ID);
  await attachBrowserStorage(world.browser, STORAGE_ID);
  const token = world.relay.storage.issueToken({ storage_id: STORAGE_ID });
  const recorded: Record<string, ToolExample> = { ...readExamples() };
  for (const name of wanted) {
    const scene = SCENES[name];
    if (scene) recorded[name] = await record(world, name, scene, token);
  }
  const ordered = TOOLS.flatMap(({ name }) => (recorded[name] ? [[name, recorded[name]]] : []));
  const text = `${JSON.stringify(Object.fromEntries(ordered), null, 2)}\n`;
  writeFileSync(EXAMPLES_FILE, steady(text, world).replaceAll(token, 'token-of-this-job'));
  for (const directory of [home, storage_directory]) rmSync(directory, { recursive: true, force: true });
  if (world.relay.violations.length > 0) throw new Error(world.relay.violations.join('\n'));
  console.log(`${ordered.length} examples`);
  if (lacking.length > 0) throw new Error(`No scene for: ${lacking.join(', ')}`);
}

async function record(world: World, name: string, scene: Scene, token: string): Promise<ToolExample> {
  const call = async (command: string, input: JsonObject = {}): Promise<JsonObject> => {
    const answer = await world.relay.command(world.device, { command, input });
    if (answer.status === 'error') throw new Error(`${command}: ${answer.error_code}: ${answer.error}`);
    return answer.output ?? {};
  };
  const page = world.site.url('/garden');
  const open = async (url: string, active: boolean): Promise<number> =>
    (await call('tab_open', { url, active })).tab_id as number;
  const input = await scene({
    page,
    token,
    call,
    open: (active = false) => open(page, active),
    openForm: () => open(`${page}/order`, false),
    write: (path, text) => call('file_write', { path, text }),
  });
  const asks = findTool(name)?.requires_confirmation === true;
  // For this call alone: what is recorded of the catalogue is what everybody gets.
  if (asks) await world.browser.message('permissions.set', { name, permission: 'allow' });
  const output = await call(name, input);
  if (asks) await world.browser.message('permissions.set', { name, permission: null });
  return { input, output };
}

/** The ref in the line of a snapshot that holds `what`. */
function refOf(what: string, snapshot: JsonValue | undefined): string {
  const line = String(snapshot)
    .split('\n')
    .find((one) => one.includes(what));
  const ref = /ref=(\w+)/.exec(line ?? '')?.[1];
  if (ref === undefined) throw new Error(`The snapshot has no ${what}.`);
  return ref;
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
