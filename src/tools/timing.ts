/** The timer that cores are given: the entry passes the browser's, tests pass a false one. */

/** Calls `run` once after `delay_ms` milliseconds. The returned function calls it off. */
export type SetTimer = (run: () => void, delay_ms: number) => () => void;
