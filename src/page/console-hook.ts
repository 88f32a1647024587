/**
 * Runs in the page's own world and tells the relay beside it (`console-relay.ts`) what the page writes to its
 * console and which errors it has. The page may change every built-in it finds: what is used here is taken
 * hold of at once, and nothing of it can make the page fail. It knows nothing of the extension, and holds
 * nothing that a page may not have.
 */
import type { ConsoleEvent, ConsoleKind, ConsoleLevel } from '../protocol/console-events';
import {
  CHANNEL_ASK,
  CHANNEL_ENTRY,
  CHANNEL_OFFER,
  CHANNEL_START,
  CHANNEL_STOP,
  CHANNEL_TAKEN,
} from './console-channel';
import { describeArguments, describeError, describeValue, type Text } from './describe-value';
import { natives } from './natives';

const METHODS: readonly (readonly [name: string, level: ConsoleLevel])[] = [
  ['debug', 'debug'],
  ['log', 'log'],
  ['info', 'info'],
  ['warn', 'warn'],
  ['error', 'error'],
  ['trace', 'log'],
  ['dir', 'log'],
  ['dirxml', 'log'],
  ['table', 'log'],
  ['group', 'log'],
  ['groupCollapsed', 'log'],
  ['assert', 'error'],
  ['count', 'log'],
  ['time', 'log'],
  ['timeLog', 'log'],
  ['timeEnd', 'log'],
];

type Method = (...args: unknown[]) => void;

const { apply, now, stringify, CustomEvent: NativeCustomEvent } = natives;
const console = globalThis.console as unknown as Record<string, Method>;
/** Detached from every document: only who was handed it hears what is dispatched on it. */
const channel = new EventTarget();
const counts: Record<string, number> = Object.create(null) as Record<string, number>;
const timers: Record<string, number> = Object.create(null) as Record<string, number>;
/** What stands in the console for the methods that were there. */
const stands: { name: string; original: Method; stand: Method }[] = [];
/** Describing a value may run code of the page, which may write to the console again. */
let recording = false;
let listening = false;

function record(kind: ConsoleKind, level: ConsoleLevel, text: () => Text, source: () => string): void {
  if (recording || !listening) return;
  recording = true;
  try {
    const { text: said, truncated } = text();
    // Without a prototype: a page may teach every object `toJSON`.
    const event = { __proto__: null, at: now(), kind, level, text: said } as unknown as ConsoleEvent;
    const place = source();
    if (place !== '') event.source = place;
    if (truncated) event.truncated = true;
    apply(natives.dispatchEvent, channel, [
      new NativeCustomEvent(CHANNEL_ENTRY, { detail: stringify(event) }),
    ]);
  } catch {
    // A page that breaks what it is listened to with is the poorer for it, nobody else.
  } finally {
    recording = false;
  }
}

function stand(name: string, level: ConsoleLevel, original: Method): Method {
  return new natives.Proxy(original, {
    apply(target, self, args: unknown[]) {
      if (name === 'time') timers[String(args[0] ?? 'default')] = natives.instant();
      else if (name !== 'assert' || !args[0]) {
        record('console', level, () => said(name, args), callerPlace);
      }
      return apply(target, self, args);
    },
  });
}

function said(name: string, args: unknown[]): Text {
  const label = String(args[0] ?? 'default');
  switch (name) {
    case 'assert':
      return describeArguments(rest(args, 'Assertion failed:'));
    case 'count':
      counts[label] = (counts[label] ?? 0) + 1;
      return { text: `${label}: ${counts[label]}`, truncated: false };
    case 'timeLog':
    case 'timeEnd': {
      const begun = timers[label];
      const took = begun === undefined ? 'there is no such timer' : `${natives.instant() - begun} ms`;
      return describeArguments(name === 'timeLog' ? rest(args, `${label}: ${took}`) : [`${label}: ${took}`]);
    }
    case 'trace':
      return describeArguments(args.length === 0 ? ['console.trace'] : args);
    default:
      return describeArguments(args);
  }
}

/** `first`, and the arguments behind the first. */
function rest(args: unknown[], first: string): unknown[] {
  const others: unknown[] = [first];
  for (let index = 1; index < args.length; index += 1) others[index] = args[index];
  return others;
}

/** The first line of the stack that is not of this script. */
function callerPlace(): string {
  const { stack } = new natives.Error();
  return typeof stack === 'string' ? natives.placeInStack(stack) : '';
}

function place(file: unknown, line: unknown, column: unknown): string {
  return typeof file === 'string' && file !== ''
    ? natives.cut(`${file}:${String(line)}:${String(column)}`, 500)
    : '';
}

function onError(event: Event): void {
  if (event instanceof ErrorEvent) {
    const { error, message, filename, lineno, colno } = event;
    record(
      'error',
      'error',
      () =>
        error === null || error === undefined ? describeArguments([message]) : describeError(error, message),
      () => place(filename, lineno, colno),
    );
    return;
  }
  const { target } = event;
  if (!(target instanceof Element)) return;
  record(
    'resource',
    'error',
    () => {
      const address = target.getAttribute('src') ?? target.getAttribute('href') ?? '';
      return describeArguments([`Failed to load <${target.localName}> ${address}`]);
    },
    () => '',
  );
}

function onRejection({ reason }: PromiseRejectionEvent): void {
  record(
    'rejection',
    'error',
    () => {
      const described = reason instanceof Error ? describeError(reason, '') : describeValue(reason);
      return { ...described, text: `Uncaught (in promise) ${described.text}` };
    },
    () => '',
  );
}

function onViolation(event: SecurityPolicyViolationEvent): void {
  const { disposition, effectiveDirective, blockedURI, sourceFile, lineNumber, columnNumber } = event;
  record(
    'csp',
    disposition === 'report' ? 'warn' : 'error',
    () =>
      describeArguments([
        `Content Security Policy: ${effectiveDirective} ${disposition === 'report' ? 'would block' : 'blocked'} ${blockedURI || 'inline'}`,
      ]),
    () => place(sourceFile, lineNumber, columnNumber),
  );
}

function start(): void {
  if (listening) return;
  listening = true;
  stands.length = 0;
  for (let index = 0; index < METHODS.length; index += 1) {
    const method = METHODS[index] as (typeof METHODS)[number];
    const name = method[0];
    const original = console[name];
    if (typeof original !== 'function') continue;
    const stood = stand(name, method[1], original);
    try {
      console[name] = stood;
      stands[stands.length] = { name, original, stand: stood };
    } catch {
      // A page may have made its console unchangeable.
    }
  }
  globalThis.addEventListener('error', onError, true);
  globalThis.addEventListener('unhandledrejection', onRejection, true);
  globalThis.addEventListener('securitypolicyviolation', onViolation, true);
}

/** The page is as it was, unless it has put something of its own around what stood there. */
function stop(): void {
  listening = false;
  for (let index = 0; index < stands.length; index += 1) {
    const { name, original, stand: stood } = stands[index] as (typeof stands)[number];
    if (console[name] === stood) console[name] = original;
  }
  globalThis.removeEventListener('error', onError, true);
  globalThis.removeEventListener('unhandledrejection', onRejection, true);
  globalThis.removeEventListener('securitypolicyviolation', onViolation, true);
}

/** Hands the channel to the relay: an object passes between the worlds of a page only inside of an event. */
function offer(): void {
  apply(natives.dispatchEvent, globalThis, [new MouseEvent(CHANNEL_OFFER, { relatedTarget: channel })]);
}

channel.addEventListener(CHANNEL_START, start);
channel.addEventListener(CHANNEL_STOP, stop);
channel.addEventListener(CHANNEL_TAKEN, () => globalThis.removeEventListener(CHANNEL_ASK, offer, true));
globalThis.addEventListener(CHANNEL_ASK, offer, true);
start();
offer();
