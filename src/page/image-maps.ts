/** Where the areas of an image map are: they have no box of their own, their image shows them. */
import { attributeOf, boxOf, nearestInTree, treeOf } from './tree';

/** The image that shows an area; null for every other element, and for an area that no image shows. */
export function areaImage(element: Element): HTMLElement | null {
  if (!(element instanceof HTMLAreaElement)) return null;
  const map = nearestInTree(element, 'map');
  const name = map && attributeOf(map, 'name');
  const images = [...treeOf(element).querySelectorAll<HTMLElement>('img[usemap]')];
  return images.find((image) => attributeOf(image, 'usemap') === `#${name}`) ?? null;
}

/** The smallest box around an area, in the viewport. */
export function areaBounds(area: HTMLAreaElement, image: HTMLElement): DOMRect {
  const { x, y, width, height } = boxOf(image);
  const { paddingLeft, paddingTop } = getComputedStyle(image);
  const left = x + image.clientLeft + (Number.parseFloat(paddingLeft) || 0);
  const top = y + image.clientTop + (Number.parseFloat(paddingTop) || 0);
  const numbers = (attributeOf(area, 'coords') ?? '').split(/[\s,;]+/).map(Number.parseFloat);
  const [a = 0, b = 0, radius = 0] = numbers;
  if (/^default$/i.test(area.shape)) return new DOMRect(x, y, width, height);
  if (/^circ/i.test(area.shape)) {
    return new DOMRect(left + a - radius, top + b - radius, 2 * radius, 2 * radius);
  }
  const across = numbers.filter((_number, index) => index % 2 === 0);
  const down = numbers.filter((_number, index) => index % 2 === 1);
  const [from_x, from_y] = [Math.min(...across), Math.min(...down)];
  return new DOMRect(left + from_x, top + from_y, Math.max(...across) - from_x, Math.max(...down) - from_y);
}
