/** Times and durations for people, by Intl. Pure: times are epoch milliseconds, `now` is passed in. */

/** The time of day, with the date when it is not of today. `locale` undefined: the browser's own. */
export function formatTime(at: number, now: number, locale?: string): string {
  const clock: Intl.DateTimeFormatOptions = { hour: '2-digit', minute: '2-digit' };
  const isToday = new Date(at).toDateString() === new Date(now).toDateString();
  const date: Intl.DateTimeFormatOptions = isToday ? {} : { month: 'short', day: 'numeric' };
  return new Intl.DateTimeFormat(locale, { ...date, ...clock }).format(at);
}

/** Date and time to the second. */
export function formatFullTime(at: number, locale?: string): string {
  return new Intl.DateTimeFormat(locale, { dateStyle: 'medium', timeStyle: 'medium' }).format(at);
}

/** `0.3s`, `12s`, `2m 5s`, in the words of the language. */
export function formatDuration(ms: number, locale?: string): string {
  const seconds = ms / 1000;
  if (seconds < 60) return formatUnit(seconds, 'second', seconds < 10 ? 1 : 0, locale);
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
