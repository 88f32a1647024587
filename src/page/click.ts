/** A click as a mouse makes it: the pointer moves there, the button goes down and up, the focus follows. */
import { AgentError } from '../protocol/errors';
import type { Modifier } from '../protocol/keys';
import { describeElement } from './describe-element';
import { isConnected, isContentEditable, parentNode } from './dom';
import { dropFocus, giveFocus } from './focus';
import { type Mouse, type MouseButton, movePointer, type Point, sendMouse } from './pointer';
import { attributeOf, elementAt, fits, isWithin, nearest, parentOf } from './tree';

export interface ClickOptions {
  button: MouseButton;
  count: number;
  modifiers: Modifier[];
}

/** Addresses that clicks asked to open in new tabs since the last time they were taken. */
let asked: string[] = [];

/** They are opened by the service worker, in the background: Chrome would bring the new tab to the front. */
export function takeNewTabs(): string[] {
  const taken = asked;
  asked = [];
  return taken;
}

/** A `javascript:` address, and where it is to run. */
export interface ScriptLink {
  url: string;
  /** As the link names it: '' for the page itself. */
  target: string;
}

let scripts: ScriptLink[] = [];

/**
 * The `javascript:` links that were followed since the last time they were taken. They are run in the page's own
 * world, by the service worker: followed from here they would be scripts of the extension, which may not run any.
 */
export function takeScripts(): ScriptLink[] {
  const taken = scripts;
  scripts = [];
  return taken;
}

/** Until it is called off: forms whose action is a script are noted too, when the page lets them be sent. */
export function noteScriptForms(): () => void {
  const onSubmit = (event: SubmitEvent): void => {
    const form = event.target;
    if (event.defaultPrevented || !(form instanceof HTMLFormElement)) return;
    const { submitter } = event;
    const of = (own: string, forms: string): string =>
      (submitter && attributeOf(submitter, own)) ?? attributeOf(form, forms) ?? '';
    const url = of('formaction', 'action').trim();
    if (!/^javascript:/i.test(url)) return;
    event.preventDefault();
    scripts.push({ url, target: of('formtarget', 'target') });
  };
  addEventListener('submit', onSubmit);
  return () => removeEventListener('submit', onSubmit);
}

const FOCUSABLE =
  'a[href], area[href], button, input, select, textarea, iframe, summary, audio[controls], video[controls], [tabindex], [contenteditable]:not([contenteditable="false" i])';

export function click(meant: Element, point: Point, { button, count, modifiers }: ClickOptions): void {
  refuseFileChooser(meant);
  const mouse: Mouse = { point, button, modifiers };
  movePointer(meant, mouse);
  const element = isConnected(meant) ? meant : twinOf(meant, point);
  for (let times = 1; times <= count && isConnected(element); times += 1) {
    const around = ancestorsOf(element);
    const goesOn = sendMouse(element, 'pointerdown', mouse);
    // Prevented at the pointer, the events of the mouse are left out, and only they.
    const takesFocus = !goesOn || sendMouse(element, 'mousedown', mouse, times);
    if (takesFocus && isConnected(element)) focusAt(element, point);
    // Let go over what has come into its place, it is a click on what is around both, as Chrome makes it.
    const under = isConnected(element) ? element : elementAt(point.x, point.y);
    const clicked =
      under === element ? element : around.find((one) => isConnected(one) && under && isWithin(under, one));
    if (!under || !clicked) break;
    if (button === 'right' && times === 1) sendMouse(clicked, 'contextmenu', mouse);
    sendMouse(under, 'pointerup', mouse);
    if (goesOn) sendMouse(under, 'mouseup', mouse, times);
    if (button !== 'left') sendClick(clicked, 'auxclick', mouse, times);
    else {
      sendClick(clicked, 'click', mouse, times);
      if (times === 2) sendMouse(clicked, 'dblclick', mouse, times);
    }
  }
}

/** What looks the same in its place. Pages that answer the pointer by making a part of themselves anew put it there. */
function twinOf(meant: Element, { x, y }: Point): Element {
  const looks = describeElement(meant);
  for (let one = elementAt(x, y); one; one = parentOf(one)) if (describeElement(one) === looks) return one;
  throw new AgentError(
    'element_not_actionable',
    `The page took ${looks} away when the pointer came to it. Nothing was clicked. Take a new page_snapshot.`,
  );
}

function ancestorsOf(element: Element): Element[] {
  const around: Element[] = [];
  for (let one = parentOf(element); one; one = parentOf(one)) around.push(one);
  return around;
}

function refuseFileChooser(element: Element): void {
  const label = nearest(element, 'label');
  const control = label instanceof HTMLLabelElement ? label.control : element;
  if (control instanceof HTMLInputElement && control.type === 'file') {
    throw new AgentError(
      'element_not_actionable',
      'This opens a file chooser, which only a real click of a person does.',
    );
  }
}

/** As pressing the button of a mouse does: the focus goes to what can have it, or away. */
function focusAt(element: Element, point: Point): void {
  const focusable = nearest(element, FOCUSABLE) ?? (document.designMode === 'on' ? document.body : null);
  if (focusable && !fits(focusable, ':disabled')) {
    giveFocus(focusable);
    if (element instanceof HTMLElement && isContentEditable(element)) placeCaret(element, point);
  } else if (!nearest(element, 'label')) dropFocus();
}

/** In an editor what is typed next goes where the click was. */
function placeCaret(element: Element, { x, y }: Point): void {
  const range = document.caretRangeFromPoint(x, y);
  if (range && element.contains(range.startContainer)) {
    getSelection()?.collapse(range.startContainer, range.startOffset);
  }
}

/** The click itself, unless Chrome would open a new tab for it: that is noted when the page lets it be. */
function sendClick(element: Element, type: 'click' | 'auxclick', mouse: Mouse, times: number): void {
  const send = (): unknown => sendMouse(element, type, mouse, times);
  if (mouse.button === 'right') send();
  else followed(element, type, mouse, send);
}

/** Enter on a link: the click that a keyboard makes. Links that open tabs are left to the service worker, as ever. */
export function followByKey(link: Element, send: () => unknown): void {
  followed(link, 'click', { button: 'left', modifiers: [] }, send);
}

/** Sends a click, and notes where it leads instead of going there, where only the service worker can. */
function followed(
  element: Element,
  type: 'click' | 'auxclick',
  { button, modifiers }: Pick<Mouse, 'button' | 'modifiers'>,
  send: () => unknown,
): void {
  const link = linkOf(element);
  const isScript = link !== null && /^javascript:/i.test(link.href);
  const opens = link !== null && (button === 'middle' || opensTab(link, modifiers));
  // A script is followed by a plain click alone.
  if (!link || (isScript ? button !== 'left' : !opens)) {
    send();
    return;
  }
  let wanted = false;
  const atEnd = (event: Event): void => {
    if (event.currentTarget !== window && !event.cancelBubble) return;
    wanted = !event.defaultPrevented;
    event.preventDefault();
  };
  const stops: EventTarget[] = [window, document];
  for (let one: Node | null = element; one; one = one instanceof ShadowRoot ? one.host : parentNode(one)) {
    stops.push(one);
  }
  // Whoever stops the event on its way is the last to have prevented it.
  for (const stop of stops) stop.addEventListener(type, atEnd);
  try {
    send();
  } finally {
    for (const stop of stops) stop.removeEventListener(type, atEnd);
  }
  if (!wanted) return;
  if (isScript) scripts.push({ url: link.href, target: targetOf(link) });
  else asked.push(link.href);
}

type Link = HTMLAnchorElement | HTMLAreaElement;

function linkOf(element: Element): Link | null {
  const link = nearest(element, 'a[href], area[href]');
  const isLink = link instanceof HTMLAnchorElement || link instanceof HTMLAreaElement;
  return isLink && /^(?:https?|javascript):/i.test(link.href) ? link : null;
}

function targetOf(link: Link): string {
  return attributeOf(link, 'target') ?? document.querySelector('base[target]')?.getAttribute('target') ?? '';
}

function opensTab(link: Link, modifiers: readonly Modifier[]): boolean {
  if (link.hasAttribute('download')) return false;
  if (modifiers.some((one) => one !== 'Alt')) return true;
  return targetOf(link).toLowerCase() === '_blank';
}
