/**
 * Puts the service worker into one classic script. Chrome starts it anew for almost every request that finds
 * it asleep, and each further module file costs a trip to another process: one file starts about a third
 * faster (docs/performance.md).
 */
import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { build, type Plugin, type ResolvedConfig } from 'vite';

interface Manifest {
  background: { service_worker: string; type?: string };
}

export function singleFileWorker(): Plugin {
  let config: ResolvedConfig;
  let ofWorkerAlone: string[] = [];
  return {
    name: 'endue-single-file-worker',
    apply: 'build',
    enforce: 'post',
    configResolved(resolved) {
      config = resolved;
    },
    writeBundle(_options, bundle) {
      const chunks = Object.values(bundle).filter((file) => file.type === 'chunk');
      const imported = new Set(
        chunks.flatMap(({ fileName, imports }) => (isWorker(fileName) ? [] : imports)),
      );
      ofWorkerAlone = chunks
        .map(({ fileName }) => fileName)
        .filter((fileName) => isWorker(fileName) && !imported.has(fileName));
    },
    async closeBundle() {
      const dist = join(config.root, config.build.outDir);
      const manifestFile = join(dist, 'manifest.json');
      const manifest = JSON.parse(await readFile(manifestFile, 'utf8')) as Manifest;
      const loader = join(dist, manifest.background.service_worker);
      await build({
        configFile: false,
        root: config.root,
        logLevel: 'error',
        publicDir: false,
        build: {
          target: config.build.target as string,
          outDir: dist,
          emptyOutDir: false,
          lib: { entry: loader, formats: ['iife'], name: 'endue', fileName: () => 'service-worker.js' },
        },
      });
      await Promise.all([loader, ...ofWorkerAlone.map((name) => join(dist, name))].map((file) => rm(file)));
      manifest.background = { service_worker: 'service-worker.js' };
      await writeFile(manifestFile, `${JSON.stringify(manifest, null, 2)}\n`);
    },
  };
}

/** The chunk that holds `src/background.ts`; nothing but the worker's loader names it. */
function isWorker(fileName: string): boolean {
  return /(^|\/)background\.ts-[^/]*\.js$/.test(fileName);
}
