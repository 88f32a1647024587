/** The events of a mouse, as pages listen for them. They are not trusted ones: no script can make those. */

import type { Modifier } from '../protocol/keys';
import { isWithin, parentOf } from './tree';

export interface Point {
  x: number;
  y: number;
}

export type MouseButton = 'left' | 'middle' | 'right';

const BUTTON: Record<MouseButton, number> = { left: 0, middle: 1, right: 2 };
const BUTTONS: Record<MouseButton, number> = { left: 1, middle: 4, right: 2 };

export interface Mouse {
  point: Point;
  button: MouseButton;
  modifiers: readonly Modifier[];
}

/** Sends one mouse or pointer event. Returns false when the page prevented what would follow. */
export function sendMouse(element: Element, type: string, mouse: Mouse, detail = 0): boolean {
  const { point, button, modifiers } = mouse;
  const isPointer = type.startsWith('pointer');
  const isDown = type.endsWith('down');
  const isMove = /move|over|out|enter|leave/.test(type);
  const init: PointerEventInit = {
    bubbles: !/enter|leave/.test(type),
    cancelable: !/enter|leave/.test(type),
    composed: !/enter|leave/.test(type),
    view: window,
    detail,
    clientX: point.x,
    clientY: point.y,
    screenX: window.screenX + point.x,
    screenY: window.screenY + point.y,
    button: isMove ? (isPointer ? -1 : 0) : BUTTON[button],
    buttons: isDown ? BUTTONS[button] : 0,
    ...modifierFlags(modifiers),
  };
  const isPointerEvent = isPointer || type === 'click' || type === 'auxclick' || type === 'contextmenu';
  const event = isPointerEvent
    ? new PointerEvent(type, {
        ...init,
        pointerId: 1,
        pointerType: 'mouse',
        isPrimary: true,
        pressure: isPointer && isDown ? 0.5 : 0,
        width: 1,
        height: 1,
      })
    : new MouseEvent(type, init);
  return element.dispatchEvent(event);
}

export function modifierFlags(modifiers: readonly Modifier[]): EventModifierInit {
  return {
    ctrlKey: modifiers.includes('Control'),
    shiftKey: modifiers.includes('Shift'),
    altKey: modifiers.includes('Alt'),
    metaKey: modifiers.includes('Meta'),
  };
}

/** Where the pointer was left by the last action in this document. */
let under: Element | null = null;

/** Moves the pointer onto an element: out of the last one, over and into this one. */
export function movePointer(element: Element, mouse: Mouse): void {
  const from = under;
  under = element;
  if (from !== element) {
    if (from) leave(from, element, mouse);
    enter(element, from, mouse);
  }
  sendMouse(element, 'pointermove', mouse);
  sendMouse(element, 'mousemove', mouse);
}

function leave(from: Element, to: Element, mouse: Mouse): void {
  if (!from.isConnected) return;
  sendMouse(from, 'pointerout', mouse);
  sendMouse(from, 'mouseout', mouse);
  for (let one: Element | null = from; one && !isWithin(to, one); one = parentOf(one)) {
    sendMouse(one, 'pointerleave', mouse);
    sendMouse(one, 'mouseleave', mouse);
  }
}

function enter(to: Element, from: Element | null, mouse: Mouse): void {
  sendMouse(to, 'pointerover', mouse);
  sendMouse(to, 'mouseover', mouse);
  const entered: Element[] = [];
  for (let one: Element | null = to; one && !(from && isWithin(from, one)); one = parentOf(one)) {
    entered.unshift(one);
  }
  for (const one of entered) {
    sendMouse(one, 'pointerenter', mouse);
    sendMouse(one, 'mouseenter', mouse);
  }
}
