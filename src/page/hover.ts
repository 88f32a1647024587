/** Moves the pointer onto an element and leaves it there. What only a style sheet shows on hover stays hidden. */
import { movePointer, type Point } from './pointer';

export function hover(element: Element, point: Point): void {
  movePointer(element, { point, button: 'left', modifiers: [] });
}
