/** One queue of screen captures for everyone (tools.md, screenshot). */
export interface CaptureQueue {
  capture(): Promise<Blob>;
}
