import 'fake-indexeddb/auto';
import { expect, test } from 'vitest';
import { putJobBody, readJobBody, removeJobBody, sweepJobBodies } from '../../../src/platform/job-bodies';

const HOUR_MS = 3_600_000;
const image = new Uint8Array([1, 2]);

test('what a job came to is there until it is taken away', async () => {
  const key = await putJobBody({ image }, 5, 'a');
  expect(await readJobBody(key, 'image')).toEqual(image);
  expect(await readJobBody(key, 'constructor')).toBeUndefined();
  await removeJobBody(key);
  expect(await readJobBody(key, 'image')).toBeUndefined();
});

test('a sweep takes what nobody came for within an hour, also after the clock was set back', async () => {
  const old = await putJobBody({ image }, 0, 'old');
  const fresh = await putJobBody({ image }, HOUR_MS, 'fresh');
  const future = await putJobBody({ image }, 9 * HOUR_MS, 'future');
  await sweepJobBodies(HOUR_MS + 1);
  expect(await readJobBody(old, 'image')).toBeUndefined();
  expect(await readJobBody(fresh, 'image')).toEqual(image);
  expect(await readJobBody(future, 'image')).toBeUndefined();
});
