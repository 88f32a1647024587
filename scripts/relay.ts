/**
 * `npm run relay [-- --port N]`: starts the platform's stand-in alone and prints what to type to try it. It
 * prints one line for each event, and never a device's token: that stands only in the answer to the first `curl`.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { curlLines } from '../test/fake-relay/curl-lines';
import { startFakeRelay } from '../test/fake-relay/fake-relay';

const DEFAULT_PORT = 8787;
const KEEP_LOG_BYTES = 64 * 1024 * 1024;

const { values } = parseArgs({ options: { port: { type: 'string', default: String(DEFAULT_PORT) } } });
const port = Number(values.port);
if (!Number.isInteger(port) || port < 0 || port > 65_535) {
  console.error(`--port must be a number from 0 to 65535, not ${JSON.stringify(values.port)}.`);
  process.exit(2);
}

const storage_directory = mkdtempSync(join(tmpdir(), 'endue-relay-'));
process.on('exit', () => rmSync(storage_directory, { recursive: true, force: true }));

const note = (line: string): void => console.log(`${new Date().toISOString().slice(11, 23)}  ${line}`);

try {
  const relay = await startFakeRelay({ port, keep_log_bytes: KEEP_LOG_BYTES, storage_directory, note });
  console.log(`The stand-in platform listens on ${relay.origin} (loopback only). Ctrl-C ends it.\n`);
  const storage_id = 'demo';
  await relay.storage.createStorage(storage_id);
  console.log(curlLines(relay.origin, { storage_id, token: relay.storage.issueToken({ storage_id }) }));
  const end = (): void => {
    void relay.close().then(() => process.exit(0));
  };
  process.on('SIGINT', end);
  process.on('SIGTERM', end);
} catch (thrown) {
  const taken = (thrown as { code?: unknown }).code === 'EADDRINUSE';
  console.error(
    taken
      ? `Port ${port} is taken. Choose another: npm run relay -- --port N, or 0 for any free one.`
      : `The stand-in could not start: ${thrown instanceof Error ? thrown.message : 'unknown reason'}`,
  );
  process.exit(1);
}
