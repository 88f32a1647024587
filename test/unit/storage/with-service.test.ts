/** The engine through the real transport against the stand-in's storage service: real HTTP, the contract checked there. */
import { afterEach, beforeEach, expect, test } from 'vitest';
import { treeHash } from '../../../src/storage/tree-hash';
import { type Bench, bench } from '../storage-transport/harness';
import { sha256Of } from './sha256';
import { World } from './world';

let served: Bench;

beforeEach(async () => {
  served = await bench();
});

afterEach(async () => {
  expect(served.service.violations).toEqual([]);
  await served.stop();
});

test('all eight modes, and the service has nothing to complain about', async () => {
  const { service } = served;
  await service.createStorage('s2');
  await service.createLink({
    link_id: 'l1',
    storage_id: 's1',
    path: 'links/l1',
    target: { storage_id: 's2', path: 'box' },
  });
  await service.write('s2', { 'box/one': '1', 'box/in/two': '2', outside: 'O' });
  const token = service.issueToken({ storage_id: 's1' });
  const linkToken = service.issueToken({ link_id: 'l1' });
  const world = new World('folder');
  const { device } = world;
  device.connect = (base, token) => {
    const transport = served.connect(base, token);
    const upload = transport.upload.bind(transport);
    // `fetch` takes real blobs only.
    transport.upload = async (sha256, content, ...rest) =>
      upload(sha256, new Blob([await content.arrayBuffer()]), ...rest);
    return transport;
  };
  const on = { storage_id: 's1', token };

  device.disk.write('a', 'A');
  device.disk.write('d/x', 'X');
  device.disk.write('d/e/y', '');
  device.disk.mkdir('empty');
  const saved = await device.save('', { token });
  expect(await service.texts('s1')).toEqual({ a: 'A', 'd/x': 'X', 'd/e/y': '', 'empty/': '' });
  world.pass();
  expect(await device.save('', { token })).toMatchObject({ revision: saved.revision, uploaded_bytes: 0 });

  const theirs = await service.write('s1', { a: 'A theirs', 'd/e/y': null, 'empty/now': 'N' });
  device.disk.write('mine', 'M');
  expect(
    await device.run({ mode: 'path_sync', ...on, revision: theirs, paths: ['a', 'd', 'empty'] }),
  ).toEqual({
    revision: theirs,
    kept: [],
  });
  expect(device.disk.tree()).toEqual({ a: 'A theirs', 'd/x': 'X', 'empty/now': 'N', mine: 'M' });

  const revision = await service.write('s2', { 'box/three': '3' });
  await device.run({ mode: 'link_pull', link_id: 'l1', path: 'links/l1', revision, token: linkToken });
  expect(device.disk.read('links/l1/three')).toBe('3');
  await service.write('s2', { 'box/one': 'theirs' });
  device.disk.write('links/l1/one', 'mine');
  device.disk.remove('links/l1/in');
  expect(await device.run({ mode: 'link_push', link_id: 'l1', token: linkToken })).toMatchObject({
    overwritten: ['one'],
  });
  expect(await service.texts('s2')).toEqual({ 'box/one': 'mine', 'box/three': '3', outside: 'O' });
  expect(await device.run({ mode: 'link_remove', link_id: 'l1', path: 'links/l1' })).toEqual({
    recovered: [],
  });

  const staged = await service.stage('s1', { 'p/one': 'P1', 'p/in/two': 'P2' });
  await device.run({ mode: 'place_path', ...on, path: 'p', revision: staged });
  expect(await device.save('p', { token, seal: true })).toMatchObject({ sealed: true, uploaded_bytes: 0 });
  await device.run({ mode: 'unseal_path', storage_id: 's1', path: 'p' });
  const expected_hash = await treeHash([
    { type: 'file', path: 'one', size: 2, sha256: await sha256Of('P1') },
    { type: 'file', path: 'in/two', size: 2, sha256: await sha256Of('P2') },
  ]);
  await device.run({ mode: 'remove_path', ...on, path: 'p', expected_hash });
  await device.save('', { token });
  device.disk.remove('links');
  await device.save('', { token });
  expect(await service.texts('s1')).toEqual(device.disk.tree());
});
