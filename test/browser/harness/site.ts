/** A web site on loopback for the pages that tests and the demo look at. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export type Page = (request: IncomingMessage, response: ServerResponse) => void;

export interface Site {
  port: number;
  /** The address of a path, on 127.0.0.1. */
  url(path: string): string;
  /** Serves a path from now on. */
  serve(path: string, page: Page | string): void;
  /** The paths that were asked for, in order. */
  visits: string[];
  close(): Promise<void>;
}

const WELCOME = `<!doctype html><html lang="en"><title>Welcome</title>
<style>body{font:24px system-ui;margin:4rem;background:linear-gradient(135deg,#e8f0ff,#fff6e8)}</style>
<h1>Hello from a page</h1><p>This picture went from a browser tab to the platform.</p></html>`;

/** Starts a site that has `/welcome`; every other path answers 404 until it is served. */
export async function startSite(): Promise<Site> {
  const pages = new Map<string, Page>();
  const visits: string[] = [];
  const server = createServer((request, response) => {
    const path = (request.url ?? '/').split('?')[0] as string;
    visits.push(path);
    const page = pages.get(path);
    if (page) page(request, response);
    else html('<!doctype html><title>Not found</title><p>Nothing here', 404)(request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const site: Site = {
    port,
    visits,
    url: (path) => `http://127.0.0.1:${port}${path}`,
    serve(path, page) {
      pages.set(path, typeof page === 'string' ? html(page) : page);
    },
    close() {
      server.closeAllConnections();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
  site.serve('/welcome', WELCOME);
  return site;
}

/** A page of HTML with a status. */
export function html(text: string, status = 200): Page {
  return (_request, response) => {
    response.writeHead(status, { 'content-type': 'text/html; charset=utf-8', 'cache-control': 'no-store' });
    response.end(text);
  };
}
