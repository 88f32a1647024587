/**
 * What a connection state says to a person: the sentence, the badge, the tone (ui.md, States). Pure; used by
 * the popup and, for badge and tooltip, by the service worker.
 */
import type { ButtonIcon } from '../platform/button-icons';
import type { ConnectionState } from '../platform/messages';
import { formatTime } from './format';
import type { Translate } from './i18n';

/** Longer hosts are cut in the middle: both ends tell people where they are. */
const LONGEST_HOST = 48;

/**
 * The sentence of the States table. `now` is epoch milliseconds, for counting down; `locale` is for times
 * (default: the browser's own).
 */
export function connectionSentence(
  state: ConnectionState,
  now: number,
  t: Translate,
  locale?: string,
): string {
  switch (state.state) {
    case 'not_enrolled':
    case 'no_network':
    case 'token_stopped':
    case 'paused':
      return t(`state_${state.state}`);
    case 'connecting':
    case 'handshaking':
      return t(`state_${state.state}`, [shortHost(state.host)]);
    case 'online':
      return t('state_online', [shortHost(state.host), formatTime(state.since, now, locale)]);
    case 'waiting':
    case 'replaced':
      return t(`state_${state.state}`, [
        new Intl.NumberFormat(locale).format(secondsUntil(state.until, now)),
      ]);
    case 'blocked_by_policy':
      return t('state_blocked_by_policy', [state.key]);
  }
}

/** The same without the count, for reading aloud once. */
export function connectionAnnouncement(
  state: ConnectionState,
  now: number,
  t: Translate,
  locale?: string,
): string {
  if (state.state === 'waiting' || state.state === 'replaced') return t(`announce_${state.state}`);
  return connectionSentence(state, now, t, locale);
}

/** Whole seconds that are left; never negative. */
export function secondsUntil(until: number, now: number): number {
  return Math.max(0, Math.ceil((until - now) / 1000));
}

export interface Badge {
  /** '' for no badge. */
  text: '' | '…' | '!' | '‖';
  /** True when it goes on only after somebody did something. */
  needs_person: boolean;
}

/** None when online; `…` while it goes on by itself; `!` when a person is needed; `‖` when paused. */
export function badgeFor(state: ConnectionState): Badge {
  switch (state.state) {
    case 'online':
      return { text: '', needs_person: false };
    case 'connecting':
    case 'handshaking':
    case 'waiting':
    case 'no_network':
      return { text: '…', needs_person: false };
    // It goes on by itself, and yet only a person can end two browsers taking turns.
    case 'replaced':
    case 'not_enrolled':
    case 'token_stopped':
    case 'blocked_by_policy':
      return { text: '!', needs_person: true };
    case 'paused':
      return { text: '‖', needs_person: false };
  }
}

/** The picture that goes with the badge; not enrolled has its own, and what goes on by itself looks like connecting. */
export function iconFor(state: ConnectionState): ButtonIcon {
  switch (state.state) {
    case 'online':
    case 'paused':
    case 'not_enrolled':
      return state.state;
    case 'connecting':
    case 'handshaking':
    case 'waiting':
    case 'no_network':
      return 'connecting';
    case 'replaced':
    case 'token_stopped':
    case 'blocked_by_policy':
      return 'attention';
  }
}

export type Tone = 'good' | 'busy' | 'attention' | 'off';

/** How the dot looks. */
export function toneOf(state: ConnectionState): Tone {
  switch (state.state) {
    case 'online':
      return 'good';
    case 'connecting':
    case 'handshaking':
    case 'waiting':
      return 'busy';
    case 'replaced':
    case 'token_stopped':
    case 'blocked_by_policy':
      return 'attention';
    case 'not_enrolled':
    case 'no_network':
    case 'paused':
      return 'off';
  }
}

export function shortHost(host: string): string {
  const half = Math.floor((LONGEST_HOST - 1) / 2);
  return host.length > LONGEST_HOST ? `${host.slice(0, half)}…${host.slice(-half)}` : host;
}
