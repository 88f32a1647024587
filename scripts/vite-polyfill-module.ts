/**
 * Turns webextension-polyfill into an ES module. As the CommonJS module it is, bundlers copy its exports one by one, and
 * that makes Chrome set up each of its APIs at every start of the service worker, also those that nobody here uses: about
 * a third of what the start ran (docs/performance.md).
 */
import type { Plugin } from 'vite';

const POLYFILL = /\/webextension-polyfill\/dist\/browser-polyfill\.js$/;

export function polyfillModule(): Plugin {
  return {
    name: 'endue-polyfill-module',
    apply: 'build',
    enforce: 'pre',
    transform(code, id) {
      if (!POLYFILL.test(id)) return;
      return {
        code: `const module = { exports: {} };\n((exports, define) => {\n${code}\n})(module.exports);\nexport default module.exports;\n`,
        map: null,
      };
    },
  };
}
