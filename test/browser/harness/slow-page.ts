/** A page of a world's site that keeps its tab loading until it is told to go on. */
import type { World } from './world';

export interface SlowPage {
  release(): void;
}

export function serveSlowPage({ site }: World, path: string): SlowPage {
  const waiting: (() => void)[] = [];
  let released = false;
  site.serve(path, (_request, response) => {
    const finish = () => {
      response.writeHead(200, { 'content-type': 'text/html' });
      response.end(`<title>${path}</title>`);
    };
    if (released) finish();
    else waiting.push(finish);
  });
  return {
    release() {
      released = true;
      for (const finish of waiting.splice(0)) finish();
    },
  };
}
