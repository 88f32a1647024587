/** Waits for a tab's navigation to end. */
export interface LoadWatch {
  start(): void;
}
