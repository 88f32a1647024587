/**
 * Draws the icons of the extension from `public/icons/icon.svg`: run it after changing that file and commit
 * what it writes (`npx tsx scripts/icons.ts`). Takes the system's Chromium, or the one in `CHROME_PATH`.
 */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { chromium } from 'playwright-core';

const SIZES = [16, 32, 48, 128];
const icons = new URL('../public/icons/', import.meta.url);
const drawing = readFileSync(new URL('icon.svg', icons), 'utf8');

const isRoot = process.getuid?.() === 0;
const browser = await chromium.launch({
  executablePath: process.env.CHROME_PATH ?? '/usr/bin/chromium',
  args: isRoot ? ['--no-sandbox'] : [],
});
try {
  const page = await browser.newPage();
  for (const size of SIZES) {
    await page.setViewportSize({ width: size, height: size });
    await page.setContent(`<style>body { margin: 0 } svg { display: block }</style>${drawing}`);
    const path = fileURLToPath(new URL(`icon-${size}.png`, icons));
    await page.screenshot({ path, omitBackground: true });
    console.log(path);
  }
} finally {
  await browser.close();
}
