/**
 * Takes the pictures of the popup for the documents, from the real extension:
 * `npm run build && npx tsx scripts/pictures.ts`. Run by hand when the popup's look changed.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Person, POPUP_SIZE } from '../test/browser/harness/person';
import { until } from '../test/browser/harness/until';
import { createWorld, type World } from '../test/browser/harness/world';

const images = fileURLToPath(new URL('../docs/images', import.meta.url));
/** Sharp on fine screens. */
const SCALE = 2;
/** Flat colours make a small file. */
const PAGE = `<!doctype html><html lang="en"><title>Welcome</title>
<style>body{font:24px system-ui;margin:4rem;background:#e8f0ff}</style>
<h1>Hello from a page</h1><p>This picture went from a browser tab to the platform.</p></html>`;

async function main(): Promise<void> {
  mkdirSync(images, { recursive: true });
  await using world = await createWorld({ enrolled: false, browser: { language: 'en-US' } });
  const person = await Person.open(world.browser);
  await person.prefer('light');

  await person.sees('Paste the enrollment from your platform');
  await take(person, 'popup-first-run.webp');

  await work(world, person);
  await take(person, 'popup-online.webp');
}

/** Something for the popup to tell of. */
async function work({ browser, relay, device, site }: World, person: Person): Promise<void> {
  site.serve('/page', PAGE);
  await browser.enroll(device.enrollment);
  await relay.waitForOnline(device);
  const input = { url: site.url('/page'), active: true };
  const { output } = await relay.command(device, { command: 'tab_open', input });
  await relay.screen(device);
  await relay.command(device, { command: 'tab_list' });
  await relay.command(device, { command: 'tab_close', input: { tab_id: output?.tab_id ?? null } });
  await person.page.send('Page.bringToFront');
  await person.sees(/Last picture sent .* Close a tab Done /);
  await until('the picture is there', () =>
    person.page.evaluate<boolean>(`!!document.querySelector('img')?.naturalWidth`),
  );
}

/** The popup as long as it is by itself, without the cursor's place in it. */
async function take(person: Person, name: string): Promise<void> {
  await person.page.evaluate('document.activeElement?.blur()');
  const height = await person.page.evaluate<number>(`document.querySelector('main').offsetHeight`);
  await person.resize({ width: POPUP_SIZE.width, height, scale: SCALE });
  const picture = await person.picture();
  writeFileSync(join(images, name), picture);
  console.log(`${name}: ${picture.length} bytes`);
}

await main();
process.exit(0);
