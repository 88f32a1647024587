/** Puts `os-interface.json` into the built extension, made anew from the registry and without white space. */
import type { Plugin } from 'vite';
import { TOOLS } from '../src/tools/registry';
import { osInterface } from './os-interface';

export function osInterfaceFile(): Plugin {
  return {
    name: 'endue-os-interface',
    apply: 'build',
    generateBundle() {
      this.emitFile({
        type: 'asset',
        fileName: 'os-interface.json',
        source: JSON.stringify(osInterface(TOOLS)),
      });
    },
  };
}
