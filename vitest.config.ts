import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';
import { validators } from './scripts/vite-validators';

/** Those that take longest, which would keep all others waiting if they began last. */
const LONGEST = [
  'pings-narrow.long',
  'pings.long',
  'relay-rules',
  'storage-crash',
  'storage-crash-random',
  'screenshot',
  'page-actions',
];

/** Long tests that are long because they wait, and so can wait together. */
const WAITING = ['pings', 'pings-narrow', 'storage-silence', 'popup', 'offscreen-alarm', 'deploy'].map(
  (name) => `test/browser/${name}.long.test.ts`,
);

const LONG_TIMEOUTS = { testTimeout: 900_000, hookTimeout: 120_000 };

class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId }: TestSpecification): number =>
      LONGEST.findIndex((name) => moduleId.endsWith(`/${name}.test.ts`));
    const isLong = (file: TestSpecification): boolean => rank(file) >= 0;
    const long = files.filter(isLong).sort((one, other) => rank(one) - rank(other));
    return [...long, ...(await super.sort(files.filter((file) => !isLong(file))))];
  }
}

/**
 * `unit` needs Node only, `built` looks at the files in dist, `browser` and `long` drive the built extension in a
 * real Chromium: `browser` three files at a time, `long`, which watches clocks or is busy, one, and `waiting` five.
 */
export default defineConfig({
  test: {
    sequence: { sequencer: LongestFirst },
    projects: [
      {
        plugins: [validators()],
        test: {
          name: 'unit',
          include: ['test/unit/**/*.test.{ts,tsx}'],
          testTimeout: 30_000,
          maxWorkers: 2,
          // They share nothing that one could leave behind; a world for each file took longer than the tests.
          isolate: false,
        },
      },
      {
        plugins: [validators()],
        test: { name: 'built', include: ['test/built/**/*.test.ts'] },
      },
      {
        plugins: [validators()],
        test: {
          name: 'browser',
          include: ['test/browser/**/*.test.ts'],
          exclude: ['test/browser/**/*.long.test.ts'],
          testTimeout: 120_000,
          hookTimeout: 120_000,
          // Each has a browser of its own, and most of the time waits for it.
          maxWorkers: 3,
        },
      },
      {
        plugins: [validators()],
        test: { name: 'waiting', include: WAITING, ...LONG_TIMEOUTS, maxWorkers: 5 },
      },
      {
        plugins: [validators()],
        test: {
          name: 'long',
          include: ['test/browser/**/*.long.test.ts'],
          exclude: WAITING,
          ...LONG_TIMEOUTS,
          fileParallelism: false,
        },
      },
    ],
  },
});
