/**
 * Builds `src/page-agent.ts` into one classic script, `page-agent.js`, for `scripting.executeScript`. It is no
 * part of the service worker, whose every cold start would pay for its size.
 */
import { join } from 'node:path';
import { build, type Plugin, type ResolvedConfig } from 'vite';

export const PAGE_AGENT_FILE = 'page-agent.js';

export function pageAgent(): Plugin {
  let config: ResolvedConfig;
  return {
    name: 'endue-page-agent',
    apply: 'build',
    configResolved(resolved) {
      config = resolved;
    },
    async closeBundle() {
      await buildPageAgent(
        config.root,
        join(config.root, config.build.outDir),
        config.build.target as string,
      );
    },
  };
}

/** Writes the script into the folder `outDir`. */
export async function buildPageAgent(root: string, outDir: string, target: string): Promise<void> {
  await build({
    configFile: false,
    root,
    logLevel: 'error',
    publicDir: false,
    build: {
      target,
      outDir,
      emptyOutDir: false,
      lib: {
        entry: join(root, 'src/page-agent.ts'),
        formats: ['iife'],
        name: 'endue',
        fileName: () => PAGE_AGENT_FILE,
      },
    },
  });
}
