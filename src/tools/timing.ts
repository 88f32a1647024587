/** The timer that cores are given: the entry passes the browser's, tests pass a false one. */

/** Calls `run` once after `delay_ms` milliseconds. The returned function calls it off. */
export type SetTimer = (run: () => void, delay_ms: number) => () => void;

/** The longest delay a timer takes; a longer one would fire at once. */
const LONGEST_TIMER_MS = 2_147_483_647;

/** The same for a delay of any length. */
export function longTimer(setTimer: SetTimer): SetTimer {
  return (run, delay_ms) => {
    let callOff = () => {};
    const arm = (left_ms: number) => {
      const step = Math.min(left_ms, LONGEST_TIMER_MS);
      callOff = setTimer(() => (left_ms > step ? arm(left_ms - step) : run()), step);
    };
    arm(Math.max(0, delay_ms));
    return () => callOff();
  };
}
