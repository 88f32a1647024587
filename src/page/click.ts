/** A click as a mouse makes it: the pointer moves there, the button goes down and up, the focus follows. */
import { AgentError } from '../protocol/errors';
import type { Modifier } from '../protocol/keys';
import { parentNode } from './dom';
import { dropFocus, giveFocus } from './focus';
import { type Mouse, type MouseButton, movePointer, type Point, sendMouse } from './pointer';
import { attributeOf, fits, nearest } from './tree';

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

const FOCUSABLE =
  'a[href], area[href], button, input, select, textarea, iframe, summary, audio[controls], video[controls], [tabindex], [contenteditable]:not([contenteditable="false" i])';

export function click(element: Element, point: Point, { button, count, modifiers }: ClickOptions): void {
  refuseFileChooser(element);
  const mouse: Mouse = { point, button, modifiers };
  movePointer(element, mouse);
  for (let times = 1; times <= count && element.isConnected; times += 1) {
    const goesOn = sendMouse(element, 'pointerdown', mouse);
    // Prevented at the pointer, the events of the mouse are left out, and only they.
    const takesFocus = !goesOn || sendMouse(element, 'mousedown', mouse, times);
    if (takesFocus) focusAt(element);
    if (!element.isConnected) break;
    if (button === 'right' && times === 1) sendMouse(element, 'contextmenu', mouse);
    sendMouse(element, 'pointerup', mouse);
    if (goesOn) sendMouse(element, 'mouseup', mouse, times);
    if (button !== 'left') sendClick(element, 'auxclick', mouse, times);
    else {
      sendClick(element, 'click', mouse, times);
      if (times === 2) sendMouse(element, 'dblclick', mouse, times);
    }
  }
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
function focusAt(element: Element): void {
  const focusable = nearest(element, FOCUSABLE);
  if (focusable && !fits(focusable, ':disabled')) giveFocus(focusable);
  else if (!nearest(element, 'label')) dropFocus();
}

/** The click itself, unless Chrome would open a new tab for it: that is noted when the page lets it be. */
function sendClick(element: Element, type: 'click' | 'auxclick', mouse: Mouse, times: number): void {
  const link = mouse.button === 'right' ? null : linkOf(element);
  if (!link || !(mouse.button === 'middle' || opensTab(link, mouse.modifiers))) {
    sendMouse(element, type, mouse, times);
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
    sendMouse(element, type, mouse, times);
  } finally {
    for (const stop of stops) stop.removeEventListener(type, atEnd);
  }
  if (wanted) asked.push(link.href);
}

type Link = HTMLAnchorElement | HTMLAreaElement;

function linkOf(element: Element): Link | null {
  const link = nearest(element, 'a[href], area[href]');
  const isLink = link instanceof HTMLAnchorElement || link instanceof HTMLAreaElement;
  return isLink && /^https?:/.test(link.href) ? link : null;
}

function opensTab(link: Link, modifiers: readonly Modifier[]): boolean {
  if (link.hasAttribute('download')) return false;
  if (modifiers.some((one) => one !== 'Alt')) return true;
  const target =
    attributeOf(link, 'target') ?? document.querySelector('base[target]')?.getAttribute('target');
  return target?.toLowerCase() === '_blank';
}
