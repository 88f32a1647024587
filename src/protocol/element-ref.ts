/**
 * A `ref` names one element of one document (tools.md: after a navigation it is `element_not_found`, never
 * another element). Its first part is made from Chrome's own random id of the document, so that whoever holds
 * a ref and the list of a tab's documents knows where it belongs, with nothing to remember. Pure.
 */

const PREFIX_LENGTH = 6;
const REF = /^([0-9a-z]{6})e([1-9][0-9]{0,8})$/;

/** The first part of every ref of the document: six letters and digits. `document_id` is Chrome's, hexadecimal. */
export function refPrefix(document_id: string): string {
  const digits = document_id.replace(/[^0-9a-f]/gi, '').slice(0, 12) || '0';
  return Number.parseInt(digits, 16).toString(36).padStart(PREFIX_LENGTH, '0').slice(-PREFIX_LENGTH);
}

export function formatRef(prefix: string, number: number): string {
  return `${prefix}e${number}`;
}

/** The parts of a ref, or null for what is none. */
export function parseRef(ref: string): { prefix: string; number: number } | null {
  const [, prefix, digits] = REF.exec(ref) ?? [];
  return prefix && digits ? { prefix, number: Number(digits) } : null;
}
