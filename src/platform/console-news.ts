/**
 * The offscreen document tells the service worker which tab's console said something. By a channel that only
 * the extension's own contexts hear; it wakes nobody: only a worker that waits is told.
 */
const NAME = 'endue-console-news';

let channel: BroadcastChannel | null = null;

export function tellConsoleNews(tab_id: number): void {
  channel ??= new BroadcastChannel(NAME);
  channel.postMessage(tab_id);
}

/** Calls `hear` for each tab with news; the returned function ends it. */
export function onConsoleNews(hear: (tab_id: number) => void): () => void {
  const own = new BroadcastChannel(NAME);
  own.onmessage = ({ data }: MessageEvent<number>) => hear(data);
  return () => own.close();
}
