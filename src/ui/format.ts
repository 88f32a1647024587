/** Times and durations for people, by Intl. Pure: times are epoch milliseconds, `now` is passed in. */

const CLOCK: Intl.DateTimeFormatOptions = { hour: 'numeric', minute: '2-digit' };
const NEAR_MS = 120_000;
const DATE: Intl.DateTimeFormatOptions = { month: 'short', day: 'numeric' };

/**
 * The time of day, with the date when it is not of today, in one piece that no line break divides. `locale`
 * undefined: the browser's own.
 */
export function formatTime(at: number, now: number, locale?: string): string {
  const date = isSameDay(at, now) ? {} : DATE;
  return format(at, { ...date, ...CLOCK }, locale);
}

/** A moment that is to come: to the second when it is so near that minutes would say nothing. */
export function formatDeadline(at: number, now: number, locale?: string): string {
  if (at - now >= NEAR_MS) return formatTime(at, now, locale);
  const date = isSameDay(at, now) ? {} : DATE;
  return format(at, { ...date, ...CLOCK, second: '2-digit' }, locale);
}

/** The time of day, or the date alone when it is not of today: for narrow columns. */
export function formatShortTime(at: number, now: number, locale?: string): string {
  return format(at, isSameDay(at, now) ? CLOCK : DATE, locale);
}

/** Date and time to the second. */
export function formatFullTime(at: number, locale?: string): string {
  return new Intl.DateTimeFormat(locale, { dateStyle: 'medium', timeStyle: 'medium' }).format(at);
}

/** `21ms`, `0.3s`, `12s`, `2m 5s`, in the words of the language. */
export function formatDuration(ms: number, locale?: string): string {
  if (ms < 100) return formatUnit(ms, 'millisecond', 0, locale);
  const seconds = ms / 1000;
  if (Math.round(seconds) < 60) return formatUnit(seconds, 'second', seconds < 10 ? 1 : 0, locale);
  const whole = Math.round(seconds);
  const minutes = formatUnit(Math.floor(whole / 60), 'minute', 0, locale);
  return `${minutes} ${formatUnit(whole % 60, 'second', 0, locale)}`;
}

function formatUnit(value: number, unit: string, digits: number, locale?: string): string {
  return new Intl.NumberFormat(locale, {
    style: 'unit',
    unit,
    unitDisplay: 'narrow',
    maximumFractionDigits: digits,
  }).format(value);
}

function format(at: number, options: Intl.DateTimeFormatOptions, locale?: string): string {
  return new Intl.DateTimeFormat(locale, options).format(at).replace(/\s/g, '\u00A0');
}

function isSameDay(one: number, other: number): boolean {
  return new Date(one).toDateString() === new Date(other).toDateString();
}
