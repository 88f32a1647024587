import { crx, type ManifestV3Export } from '@crxjs/vite-plugin';
import { defineConfig } from 'vite';
import manifest from './manifest.json';
import { pageAgent } from './scripts/vite-page-agent';
import { singleFileWorker } from './scripts/vite-single-file-worker';
import { validators } from './scripts/vite-validators';

export default defineConfig({
  plugins: [validators(), crx({ manifest: manifest as ManifestV3Export }), pageAgent(), singleFileWorker()],
  build: {
    target: 'chrome120',
    modulePreload: false,
    sourcemap: false,
    rollupOptions: {
      // How long plugins take concerns nobody who builds this.
      checks: { pluginTimings: false },
      input: { offscreen: 'src/offscreen.html', activity: 'src/ui/activity/activity.html' },
    },
  },
});
