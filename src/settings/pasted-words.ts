/**
 * Splits a pasted text that is not JSON into words, each with the label that stood before it
 * (`endpoint=…`, `Token: …`, `--token …`). Pure; does not judge what the words mean.
 */
import { readQuoted } from './lenient-json';

export type Label = 'endpoint' | 'token';

export interface Word {
  text: string;
  /** What the text called this word, or null. */
  label: Label | null;
}

const NAMES: Readonly<Record<string, Label>> = {
  endpoint: 'endpoint',
  token: 'token',
  엔드포인트: 'endpoint',
  토큰: 'token',
};
/** A name, as it stands alone or in `ENDUE_TOKEN=`, `relay.endpoint:`, `--token`. */
const NAMED = /^(--?)?(?:[\w.]*[_.-])?(endpoint|token|엔드포인트|토큰)$/i;

const SEPARATOR = /["'`”’]?[^\S\n]*(?:=>|[:=：])/y;
const COLON = /\s*[:：]/y;
const LINE_END = /[^\S\n]*(?:\n|$)/y;
const BETWEEN = /[\s,;()[\]{}<>，、；（）｛｝「」『』]+/y;
// Words have a longest length, so that no text can take quadratic time.
const LONGEST = 2048;
const ADDRESS = /[a-z][a-z0-9+.-]{0,20}:\/\/(?:(?!\]\()[^\s"“”„‟«»‘’‚‛<>，、；（）｛｝「」『』]){0,4096}/iy;
const BARE = /[^\s,;()[\]{}<>"“”„‟«»‘’‚‛，、；（）｛｝「」『』]{1,4096}/y;

/** Single and back quotes may stand inside a token, so only one at the end of a word closes. */
const SINGLE_QUOTED = /(?:'\S{0,2048}?'|`\S{0,2048}?`|[‘’‚‛]\S{0,2048}?[‘’‚‛'])(?=$|[\s,;:=()[\]{}<>])/y;

/** The words of `text`, in order. Names that serve as labels are not words. */
export function wordsIn(text: string): Word[] {
  const lines = withPlainNames(withoutCommands(unprompted(unquoted(text))));
  const words: Word[] = [];
  let label: Label | null = null;
  for (let at = 0; at < lines.length; ) {
    const word = quotedWord(lines, at) ?? bareWord(lines, at);
    if (word === null) {
      at += match(BETWEEN, lines, at)?.length || 1;
      continue;
    }
    const name = nameAt(lines, at, word);
    at = name?.end ?? word.end;
    if (name !== null) {
      label = name.label;
      continue;
    }
    if (isOtherKey(lines, word)) continue;
    // A column of names above a column of values: an address is never meant as the token.
    const isMeant = label === 'endpoint' || !word.text.includes('://');
    words.push({ text: word.text, label: isMeant ? label : null });
    label = null;
  }
  return words;
}

/**
 * The name that `word` is, and where it ends; null for an ordinary word. It labels the next word when a
 * separator follows or when it has its line to itself; in running text it only names the thing.
 */
function nameAt(text: string, at: number, word: Found): { label: Label | null; end: number } | null {
  const [, dashes, name = ''] = NAMED.exec(word.text) ?? [];
  const label = NAMES[name.toLowerCase()];
  if (label === undefined) return null;
  const separator = match(SEPARATOR, text, word.end);
  if (separator !== undefined) return { label, end: word.end + separator.length };
  if (dashes !== undefined) return { label, end: word.end };
  if (NAMES[word.text.toLowerCase()] === undefined) return null;
  return { label: hasItsLine(text, at, word.end) ? label : null, end: word.end };
}

/** True when nothing but white space and a list mark shares the line. */
function hasItsLine(text: string, start: number, end: number): boolean {
  if (match(LINE_END, text, end) === undefined) return false;
  return /^[\s*•-]*$/.test(text.slice(text.lastIndexOf('\n', start) + 1, start));
}

/** `"id":`, the key of something else in an object that could not be read as a whole. */
function isOtherKey(text: string, word: Found): boolean {
  return /["”]/.test(text.charAt(word.end - 1)) && match(COLON, text, word.end) !== undefined;
}

/** A mail or a chat that is quoted as a whole. */
function unquoted(text: string): string {
  const isQuoted = text.split('\n').every((line) => /^\s*(?:>|$)/.test(line));
  return isQuoted ? text.replace(/^[^\S\n]*(?:>[^\S\n]*)+/gm, '') : text;
}

/** Where the commands themselves set the endpoint, they are what is meant, and not an answer below them. */
function unprompted(text: string): string {
  const sets =
    /^[^\S\n]*[$#%>][^\S\n]+(?=(?:export|set|setx)?[^\S\n]*(?:\w{0,99}[_.-])?(endpoint|token)[\s=])/gim;
  const names = [...text.matchAll(sets)].map(([, name = '']) => name.toLowerCase());
  return names.includes('endpoint') ? text.replace(sets, '') : text;
}

/** Names as PowerShell, cmd.exe and fish assign to them, and as Markdown makes them bold. */
function withPlainNames(text: string): string {
  return text
    .replace(/^([^\S\n]*)(?:setx|set[^\S\n]+-\w+)[^\S\n]+(\w+)[^\S\n]+/gim, '$1$2=')
    .replace(/(?<![^\s;])\$env:(?=\w)/gi, '')
    .replace(/\*\*((?:endpoint|token|엔드포인트|토큰)[^\S\n]?[:：])\*\*/gi, '$1');
}

/** Without the lines that a terminal shows before its answer, and the fences around code. */
function withoutCommands(text: string): string {
  let continued = false;
  return text
    .split('\n')
    .filter((line) => {
      const isCommand = continued || /^\s*[$#%>]\s/.test(line) || /^\s*curl\s/.test(line);
      continued = isCommand && /\\\s*$/.test(line);
      return !isCommand && !/^\s*(?:```|~~~)\w*\s*$/.test(line);
    })
    .join('\n');
}

interface Found {
  text: string;
  end: number;
}

/** A quoted string counts as one word when it holds one and ends where a word can end. */
function quotedWord(text: string, at: number): Found | null {
  const single = match(SINGLE_QUOTED, text, at);
  if (single !== undefined) return { text: single.slice(1, -1), end: at + single.length };
  const quoted = /['`‘’‚‛]/.test(text.charAt(at)) ? null : readQuoted(text, at, LONGEST);
  if (quoted === null || !/^$|^[\s,;:=()[\]{}<>]/.test(text.charAt(quoted.end))) return null;
  const word = quoted.value.trim();
  return word === '' || /\s/.test(word) ? null : { text: word, end: quoted.end };
}

function bareWord(text: string, at: number): Found | null {
  const address = match(ADDRESS, text, at);
  if (address !== undefined) return addressIn(address, at, text.charAt(at - 1));
  const run = match(BARE, text, at);
  if (run === undefined) return null;
  // `token=abc`: the name ends at the separator. Any other `=` or `:` belongs to the word.
  const head = /^([^:=：]+)[:=：]/.exec(run)?.[1];
  const word = head !== undefined && NAMED.test(head) ? head : run;
  return { text: word, end: at + word.length };
}

/** The address without what is not meant to belong to it. */
function addressIn(run: string, at: number, before: string): Found {
  // `<address|words>` and `[address](address)` are links.
  const [, link] = (before === '<' && /^([^|]+)\|/.exec(run)) || [];
  if (link !== undefined) return { text: link, end: at + run.length };
  const [address = ''] = run.split('](', 1);
  const text = withoutKorean(address).replace(/[,;)}。]+$/, '');
  return { text, end: at + text.length };
}

/** Korean goes on without a space behind an address. A host or a path in Korean letters begins with one. */
function withoutKorean(address: string): string {
  const head = address.replace(/[가-힣]{1,20}$/, '');
  const hasPath = head.indexOf('/', head.indexOf('://') + 3) > 0;
  return hasPath && /^[!-~]+$/.test(head) && /[0-9A-Za-z]$/.test(head) ? head : address;
}

function match(sticky: RegExp, text: string, at: number): string | undefined {
  sticky.lastIndex = at;
  return sticky.exec(text)?.[0];
}
