/** Builds the extension into `dist`. */
import { fileURLToPath } from 'node:url';
import { setUp } from './setup.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));

/** @param {{ quiet?: boolean }} [options] */
export async function buildExtension({ quiet = false } = {}) {
  // Vite warns that its next major version would load this config otherwise; the version is pinned.
  process.env.VITE_CONFIG_NATIVE_IGNORE_WARNING = 'true';
  const { build } = await import('vite');
  await build({ root, logLevel: quiet ? 'error' : 'info' });
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  setUp({ browser: false });
  await buildExtension();
}
