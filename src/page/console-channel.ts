/**
 * What the two scripts that listen to a console say to each other. Whichever starts second finds the other:
 * the hook offers its channel, the relay asks for it. When both start with the document, no script of the page
 * has run by then, and none can take the channel. In a document that was there before, a page could, and
 * would forge its own console.
 */

/** A `MouseEvent` on the window whose `relatedTarget` is the channel. */
export const CHANNEL_OFFER = 'endue-console-offer';
/** On the window: the relay has come and has no channel yet. */
export const CHANNEL_ASK = 'endue-console-ask';
/** On the channel: the relay has it, and nobody else is to get it. */
export const CHANNEL_TAKEN = 'taken';
/** A `CustomEvent` on the channel whose detail is the JSON text of a `ConsoleEvent`. */
export const CHANNEL_ENTRY = 'entry';
export const CHANNEL_START = 'start';
export const CHANNEL_STOP = 'stop';
