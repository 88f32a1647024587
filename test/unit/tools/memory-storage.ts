/** A storage area of the browser, in memory. What is stored is a copy. */
import type { TextShelfOptions } from '../../../src/tools/text-shelf';

export class MemoryStorage {
  readonly items = new Map<string, unknown>();

  readonly area: TextShelfOptions['storage'] = {
    get: async (keys) => {
      const wanted = typeof keys === 'string' ? [keys] : (keys as string[]);
      return structuredClone(
        Object.fromEntries(
          wanted.filter((key) => this.items.has(key)).map((key) => [key, this.items.get(key)]),
        ),
      );
    },
    set: async (items) => {
      for (const [key, value] of Object.entries(items)) this.items.set(key, structuredClone(value));
    },
    remove: async (keys) => {
      for (const key of [keys].flat()) this.items.delete(key);
    },
  };
}
