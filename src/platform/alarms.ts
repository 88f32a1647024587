/** The two alarms that wake the worker: one looks after the offscreen document, one after the ledger. */
import type { Alarms } from 'webextension-polyfill';
import { browser } from './browser';

const PERIODS_MINUTES = {
  /** A dead offscreen document is noticed by nobody else. Twice as often, and the worker would never sleep. */
  watch: 1,
  sweep: 60,
} as const;

export type AlarmName = keyof typeof PERIODS_MINUTES;

/** Call it synchronously at the start of the worker, or Chrome does not wake it. */
export function onAlarm(handlers: Record<AlarmName, () => void>): void {
  browser.alarms.onAlarm.addListener(({ name }: Alarms.Alarm) => {
    if (isAlarmName(name)) handlers[name]();
  });
}

/** Sets the alarms that are not set; those that are keep their time. */
export async function ensureAlarms(): Promise<void> {
  const set = new Set((await browser.alarms.getAll()).map(({ name }) => name));
  for (const [name, periodInMinutes] of Object.entries(PERIODS_MINUTES)) {
    if (!set.has(name)) browser.alarms.create(name, { periodInMinutes });
  }
}

function isAlarmName(name: string): name is AlarmName {
  return Object.hasOwn(PERIODS_MINUTES, name);
}
