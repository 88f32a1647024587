/** An element in a few words, for a sentence that somebody reads: the start tag, and what it says. */
import { tagOf } from './dom';
import { attributeOf, textOf } from './tree';

const LONGEST_VALUE = 40;
const LONGEST_SOURCE = 2_000;
const SHOWN = ['id', 'class', 'name', 'type', 'role'];
/** Control characters, and those that turn the direction of a text around. */
const UNSEEN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu;

/** `<button id="send" class="main"> "Send the order"`. The page's words, cut and in one line. */
export function describeElement(element: Element): string {
  const shown = SHOWN.flatMap((name) => {
    const value = attributeOf(element, name);
    return value ? [` ${name}="${oneLine(value)}"`] : [];
  });
  const said = oneLine(attributeOf(element, 'aria-label') ?? textOf(element).slice(0, LONGEST_SOURCE));
  return `<${tagOf(element)}${shown.join('')}>${said ? ` "${said}"` : ''}`;
}

/** A text of the page, fit for the middle of a sentence. */
export function oneLine(text: string, longest = LONGEST_VALUE): string {
  const plain = text.replace(UNSEEN, ' ').replace(/\s+/g, ' ').replaceAll('"', "'").trim();
  return plain.length > longest ? `${plain.slice(0, longest - 1).trimEnd()}…` : plain;
}
