import { crx, type ManifestV3Export } from '@crxjs/vite-plugin';
import { defineConfig } from 'vite';
import manifest from './manifest.json';
import { osInterfaceFile } from './scripts/vite-os-interface';
import { pageAgent } from './scripts/vite-page-agent';
import { pageScripts } from './scripts/vite-page-scripts';
import { polyfillModule } from './scripts/vite-polyfill-module';
import { singleFileWorker } from './scripts/vite-single-file-worker';
import { validators } from './scripts/vite-validators';

export default defineConfig({
  plugins: [
    validators(),
    polyfillModule(),
    osInterfaceFile(),
    crx({ manifest: manifest as ManifestV3Export }),
    pageAgent(),
    singleFileWorker(),
    pageScripts(),
  ],
  build: {
    target: 'chrome120',
    modulePreload: false,
    sourcemap: false,
    rollupOptions: {
      input: {
        offscreen: 'src/offscreen.html',
        activity: 'src/ui/activity/activity.html',
        settings: 'src/ui/settings/settings.html',
        storages: 'src/ui/storages/storages.html',
      },
      // How long plugins take concerns nobody who builds this.
      checks: { pluginTimings: false },
    },
  },
});
