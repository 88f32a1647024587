/**
 * Draws the icons of the extension from `scripts/icon.svg`: run it after changing that file and commit what it
 * writes (`npx tsx scripts/icons.ts`). Takes the system's Chromium, or the one in `CHROME_PATH`.
 */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { chromium, type Page } from 'playwright-core';
import { BUTTON_ICON_SIZES, BUTTON_ICONS, buttonIconFile } from '../src/platform/button-icons';

/** The extension itself, in lists and in the store. */
const SIZES = [16, 32, 48, 128];
const directory = new URL('../public/', import.meta.url);
const drawing = readFileSync(new URL('icon.svg', import.meta.url), 'utf8');

const isRoot = process.getuid?.() === 0;
const browser = await chromium.launch({
  executablePath: process.env.CHROME_PATH ?? '/usr/bin/chromium',
  args: isRoot ? ['--no-sandbox'] : [],
});
try {
  const page = await browser.newPage();
  for (const size of SIZES) await draw(page, 'online', size, `icons/icon-${size}.png`, marginOf(size));
  for (const icon of BUTTON_ICONS) {
    for (const size of BUTTON_ICON_SIZES) await draw(page, icon, size, buttonIconFile(icon, size), 0);
  }
} finally {
  await browser.close();
}

/** The store wants 96 pixels of drawing in the middle of its 128. */
function marginOf(size: number): number {
  return size === 128 ? 16 : 0;
}

/** One of the drawing's groups as a picture without a background. */
async function draw(page: Page, group: string, size: number, file: string, margin: number): Promise<void> {
  await page.setViewportSize({ width: size, height: size });
  await page.setContent(
    `<style>
      body { margin: ${margin}px }
      svg { display: block }
      svg > g:not(#${group}) { display: none }
    </style>${drawing}`,
  );
  const path = fileURLToPath(new URL(file, directory));
  await page.screenshot({ path, omitBackground: true });
  console.log(file);
}
