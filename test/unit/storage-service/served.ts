/** The storage service behind a real HTTP server on loopback, its files in a temporary directory. */
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { StorageService } from '../../fake-relay/storage-service';

export interface Served {
  service: StorageService;
  directory: string;
  /** `http://127.0.0.1:port`. */
  origin: string;
  stop(): Promise<void>;
}

export async function serve(directory?: string): Promise<Served> {
  const at = directory ?? (await mkdtemp(join(tmpdir(), 'storage-service-')));
  const service = await StorageService.open(at);
  const server = createServer((request, response) => {
    void service.handle(request, response).then((handled) => {
      if (!handled) response.writeHead(404).end();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    service,
    directory: at,
    origin: `http://127.0.0.1:${port}`,
    async stop() {
      service.close();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
      if (directory === undefined) await rm(at, { recursive: true, force: true });
    },
  };
}
