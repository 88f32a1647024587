/** Builds the extension into `dist`. */
import { relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { setUp } from './setup.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));

/** `into` is another folder than `dist`. @param {{ quiet?: boolean, into?: string }} [options] */
export async function buildExtension({ quiet = false, into } = {}) {
  // Vite warns that its next major version would load this config otherwise; the version is pinned.
  process.env.VITE_CONFIG_NATIVE_IGNORE_WARNING = 'true';
  const { build } = await import('vite');
  await build({
    root,
    logLevel: quiet ? 'error' : 'info',
    // One of the plugins takes every path for one below the root.
    ...(into ? { build: { outDir: relative(root, into), emptyOutDir: true } } : {}),
  });
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  setUp({ browser: false });
  await buildExtension();
}
