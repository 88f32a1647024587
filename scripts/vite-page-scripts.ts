/**
 * Builds the scripts that run inside pages, each into one classic file at the top of `dist`: Chrome injects
 * files, not modules, and the service worker must not carry what only pages need.
 */
import { join } from 'node:path';
import { build, type Plugin, type ResolvedConfig } from 'vite';

/** Name in `dist` → source. */
export const PAGE_SCRIPTS: Readonly<Record<string, string>> = {
  'console-relay.js': 'src/page/console-relay.ts',
  'console-hook.js': 'src/page/console-hook.ts',
};

export function pageScripts(): Plugin {
  let config: ResolvedConfig;
  return {
    name: 'endue-page-scripts',
    apply: 'build',
    configResolved(resolved) {
      config = resolved;
    },
    async closeBundle() {
      for (const [name, source] of Object.entries(PAGE_SCRIPTS)) {
        await build({
          configFile: false,
          root: config.root,
          logLevel: 'error',
          publicDir: false,
          build: {
            target: config.build.target as string,
            outDir: join(config.root, config.build.outDir),
            emptyOutDir: false,
            lib: { entry: join(config.root, source), formats: ['iife'], name: 'endue', fileName: () => name },
          },
        });
      }
    },
  };
}
