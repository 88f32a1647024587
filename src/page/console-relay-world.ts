/** What the relay leaves in its isolated world, where the service worker's functions find it. Types and names. */

/** A page does not see the isolated world. */
export const CONSOLE_RELAY = 'endueConsoleRelay';
/** Set before the relay comes to a document that was there before. */
export const CONSOLE_LATE = 'endueConsoleLate';

export interface ConsoleRelay {
  /** Resolves when everything heard so far is kept, or nobody takes it. */
  flush(): Promise<void>;
  /** Listens again after it was told to stop. */
  resume(): void;
}

export interface RelayWorld {
  endueConsoleRelay?: ConsoleRelay;
  endueConsoleLate?: boolean;
}
