/** Understanding what a person pastes as an enrollment (wire.md §1). Pure. */
import {
  checkEndpoint,
  checkEnrollment,
  type EnrollmentCheck,
  type EnrollmentProblem,
  enrollmentHost,
  isWebSocketAddress,
} from './enrollment-rules';
import { findObjects, type LenientObject, type LenientValue } from './lenient-json';
import { type Word, wordsIn } from './pasted-words';

export { type Enrollment, type EnrollmentProblem, enrollmentHost } from './enrollment-rules';

/** Far more than an API answer around an enrollment; it is read anew at every key stroke. */
export const LONGEST_PASTE = 20_000;

/** What a person may see of a text while it is being pasted. The token itself is never in it. */
export interface EnrollmentDraft {
  /** The relay's host, once a usable endpoint is there. */
  host: string | null;
  /** Null when the text is a complete enrollment. */
  problem: EnrollmentProblem | null;
}

/**
 * Reads a pasted text: the enrollment object, an API answer around it, or the endpoint and the token as two
 * bare or labelled strings in any order. Anything else is a problem that says what is missing or wrong.
 */
export function parseEnrollment(text: string): EnrollmentCheck {
  const found = findParts(text);
  if ('problem' in found) return { ok: false, problem: found.problem };
  return checkEnrollment(found.endpoint, found.token);
}

/** The host and the problem of a text that may not be finished yet. */
export function describeEnrollmentDraft(text: string): EnrollmentDraft {
  const found = findParts(text);
  if ('problem' in found) return { host: hostOf(found.endpoint), problem: found.problem };
  const checked = checkEnrollment(found.endpoint, found.token);
  return { host: hostOf(found.endpoint), problem: checked.ok ? null : checked.problem };
}

function hostOf(endpoint: string | undefined): string | null {
  const checked = endpoint === undefined ? null : checkEndpoint(endpoint);
  return checked?.ok ? enrollmentHost(checked.endpoint) : null;
}

type Parts =
  | { endpoint: string; token: string | null }
  | { problem: EnrollmentProblem /** When there was one all the same. */; endpoint?: string };

function findParts(text: string): Parts {
  if (text.length > LONGEST_PASTE) return { problem: 'too_long' };
  const clean = withNarrowColons(withoutInvisible(text));
  if (clean.trim() === '') return { problem: 'empty' };
  const parts = partsOf(clean);
  if (isUsable(parts) || hasQuotedToken(parts)) return parts;
  // What only helps where nothing was understood: it could spoil a text that is right as it is.
  const others = [unescaped, withoutFullWidth].flatMap((change) => {
    const changed = change(clean);
    return changed === clean ? [] : [partsOf(changed)];
  });
  return others.find(isUsable) ?? parts;
}

/** An answer that was logged as a string inside another one. */
function unescaped(text: string): string {
  return text.replaceAll('\\"', '"');
}

/** Signs as East Asian keyboards and chats write them: ASCII in full width, corner brackets as quotes. */
function withoutFullWidth(text: string): string {
  return text
    .replace(/[\uFF01-\uFF5E]/g, (sign) => String.fromCharCode(sign.charCodeAt(0) - 0xfee0))
    .replace(/[「」『』]/g, '"')
    .replaceAll('、', ',');
}

function isUsable(parts: Parts): boolean {
  return !('problem' in parts) && checkEnrollment(parts.endpoint, parts.token).ok;
}

/** The token itself has a quote in it: unescaped, the text would seem to hold another, shorter token. */
function hasQuotedToken(parts: Parts): boolean {
  if ('problem' in parts || !checkEndpoint(parts.endpoint).ok) return false;
  return parts.token?.includes('"') ?? false;
}

/** Zero-width characters, the BOM, soft hyphens, variation selectors and marks of writing direction. */
function withoutInvisible(text: string): string {
  return text.replace(/\p{Default_Ignorable_Code_Point}/gu, '');
}

/** As a keyboard for Chinese or Japanese writes an address. */
function withNarrowColons(text: string): string {
  return text.replace(/：(?:\/\/|／／)/g, '://');
}

function partsOf(text: string): Parts {
  const { objects, rest } = findObjects(text);
  const claims = objects.flatMap(claimsIn);
  const whole = claims.filter(isWhole);
  // Other things in an answer have an endpoint and a token too; ours is a WebSocket's.
  const sockets = whole.filter(({ endpoint }) => isWebSocketAddress(endpoint));
  const [first, ...others] = sockets.length > 0 ? sockets : whole;
  const words = wordsIn(withoutCutString(rest));
  if (first !== undefined) {
    const isOnly =
      others.every((other) => isSame(first, other)) && !words.some(isOtherSocket(first.endpoint));
    return isOnly ? first : { problem: 'ambiguous' };
  }
  return partsOfWords([...claims.flatMap(wordsOfClaim), ...words]);
}

/** Another enrollment can stand beside an object in bare words; which one is meant, nobody can tell. */
function isOtherSocket(endpoint: string): (word: Word) => boolean {
  const own = checkEndpoint(endpoint);
  return ({ text }) => {
    const other = isWebSocketAddress(text) ? checkEndpoint(text) : null;
    return own.ok && other?.ok === true && other.endpoint !== own.endpoint;
  };
}

/** An object that ends in the middle of a string: what is there of that string is no token, nor its name. */
function withoutCutString(text: string): string {
  return /[{｛]/.test(text) ? text.replace(/([{｛,，:：]\s{0,99}["“”])[^\s"“”]*\s*$/, '$1') : text;
}

interface Claim {
  endpoint: string | null;
  token: string | null;
}

interface WholeClaim extends Claim {
  endpoint: string;
}

/** An object's own endpoint and token, and those of everything inside it. */
function claimsIn(value: LenientValue): Claim[] {
  if (Array.isArray(value)) return value.flatMap(claimsIn);
  if (!(value instanceof Map)) return [];
  const claim: Claim = {
    endpoint: stringAt(value, 'endpoint'),
    token: stringAt(value, 'token') ?? stringAt(value, 'enrollment_token'),
  };
  const inner = [...value.values()].flatMap(claimsIn);
  return claim.endpoint === null && claim.token === null ? inner : [claim, ...inner];
}

/** By a key in whatever case; as it is written here first. */
function stringAt(members: LenientObject, key: string): string | null {
  const value = members.get(key) ?? [...members].find(([name]) => name.toLowerCase() === key)?.[1];
  return typeof value === 'string' && value.trim() !== '' ? value.trim() : null;
}

function isWhole(claim: Claim): claim is WholeClaim {
  if (claim.endpoint === null) return false;
  if (claim.token !== null) return true;
  const checked = checkEndpoint(claim.endpoint);
  return checked.ok && checked.query_token !== null;
}

function isSame(one: WholeClaim, other: WholeClaim): boolean {
  const [first, second] = [one, other].map(({ endpoint, token }) => checkEnrollment(endpoint, token));
  if (!first?.ok || !second?.ok) return one.endpoint === other.endpoint && one.token === other.token;
  return (
    first.enrollment.endpoint === second.enrollment.endpoint &&
    first.enrollment.token === second.enrollment.token
  );
}

function wordsOfClaim({ endpoint, token }: Claim): Word[] {
  const words: Word[] = [];
  if (endpoint !== null) words.push({ text: endpoint, label: 'endpoint' });
  if (token !== null) words.push({ text: token, label: 'token' });
  return words;
}

function partsOfWords(words: Word[]): Parts {
  const addresses = distinct(
    words.filter(({ text, label }) => label === 'endpoint' || (label === null && text.includes('://'))),
  );
  const sockets = addresses.filter(isWebSocketAddress);
  const [endpoint, ...others] = sockets.length > 0 ? sockets : addresses;
  if (endpoint === undefined) return { problem: 'endpoint_missing' };
  if (others.length > 0) return { problem: 'ambiguous' };

  const labelled = distinct(words.filter(({ label }) => label === 'token'));
  if (labelled.length > 1) return { problem: 'ambiguous', endpoint };
  if (labelled[0] !== undefined) return { endpoint, token: labelled[0] };

  const bare = tokensAmong(words);
  if (bare.length === 0) return splitAtComma(endpoint);
  if (bare.length === 1) return { endpoint, token: bare[0] as string };
  const checked = checkEndpoint(endpoint);
  const hasOwnToken = checked.ok && checked.query_token !== null;
  return hasOwnToken ? { endpoint, token: null } : { problem: 'ambiguous', endpoint };
}

function distinct(words: Word[]): string[] {
  return [...new Set(words.map(({ text }) => text))];
}

/** The unlabelled words that can be meant as the token, right or wrong. */
function tokensAmong(words: Word[]): string[] {
  const candidates = distinct(words.filter(({ label }) => label === null)).filter(
    // Neither an address, nor a sign by itself, nor `Some label:`.
    (word) => !word.includes('://') && /[0-9A-Za-z]/.test(word) && !/[:：]$/.test(word),
  );
  // Beside a word in ASCII, words of other alphabets are what a person wrote around it.
  const plain = candidates.filter((word) => /^[\x21-\x7E]+$/.test(word));
  return plain.length > 0 ? plain : candidates;
}

/** `wss://relay.example/socket,token`: a comma is legal in an address, so it divides only in need. */
function splitAtComma(address: string): Parts {
  const [, endpoint, token] = /^(.+)[,;]([^,;/?=]+)$/.exec(address) ?? [];
  if (endpoint === undefined || token === undefined) return { endpoint: address, token: null };
  const whole = checkEndpoint(address);
  if (whole.ok && whole.query_token !== null) return { endpoint: address, token: null };
  return { endpoint, token };
}
