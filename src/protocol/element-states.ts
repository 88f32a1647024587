/** The states of an element that `page_wait` can wait for. Pure. */
export const ELEMENT_STATES = [
  'visible',
  'hidden',
  'attached',
  'detached',
  'enabled',
  'disabled',
  'checked',
  'unchecked',
] as const;

export type ElementState = (typeof ELEMENT_STATES)[number];
