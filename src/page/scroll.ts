/** Scrolls the page or a part of it, and says where that leaves it. */
import { boxOf, elementAt, parentOf } from './tree';

export interface ScrollOptions {
  to?: 'top' | 'bottom' | 'left' | 'right';
  /** CSS pixels; right and down are positive. */
  by_x?: number;
  by_y?: number;
}

export interface Scrolled {
  /** CSS pixels from the start, and how far it goes. */
  scroll: { x: number; y: number; max_x: number; max_y: number };
  moved: boolean;
}

/** With neither `to` nor `by`, brings the element to the middle of the view. */
export function scroll(element: Element | null, { to, by_x = 0, by_y = 0 }: ScrollOptions): Scrolled {
  const isIntoView = element !== null && to === undefined && by_x === 0 && by_y === 0;
  const across = to === 'left' || to === 'right' || (by_x !== 0 && by_y === 0);
  const scroller = isIntoView
    ? scrollerOf(parentOf(element), false)
    : scrollerOf(element ?? elementAt(innerWidth / 2, innerHeight / 2), across);
  const before = element && isIntoView ? boxOf(element) : null;
  const { scrollLeft, scrollTop } = scroller;
  if (isIntoView) {
    element.scrollIntoView({ block: 'center', inline: 'center', behavior: 'instant' });
  } else {
    const { max_x, max_y } = farthest(scroller);
    scroller.scrollTo({
      left: to === 'left' ? 0 : to === 'right' ? max_x : scrollLeft + by_x,
      top: to === 'top' ? 0 : to === 'bottom' ? max_y : scrollTop + by_y,
      behavior: 'instant',
    });
  }
  const now = element && before ? boxOf(element) : null;
  const moved =
    before && now
      ? before.x !== now.x || before.y !== now.y
      : scrollLeft !== scroller.scrollLeft || scrollTop !== scroller.scrollTop;
  if (moved) tellScrolled(scroller);
  return {
    scroll: {
      x: Math.round(scroller.scrollLeft),
      y: Math.round(scroller.scrollTop),
      ...farthest(scroller),
    },
    moved,
  };
}

function farthest({ scrollWidth, clientWidth, scrollHeight, clientHeight }: Element): {
  max_x: number;
  max_y: number;
} {
  return { max_x: Math.max(0, scrollWidth - clientWidth), max_y: Math.max(0, scrollHeight - clientHeight) };
}

/** The nearest part of the page that can be scrolled that way, else the page itself. */
function scrollerOf(from: Element | null, across: boolean): Element {
  const page = document.scrollingElement ?? document.documentElement;
  for (let one = from; one && one !== page && one !== document.body; one = parentOf(one)) {
    const { max_x, max_y } = farthest(one);
    const { overflowX, overflowY } = getComputedStyle(one);
    if ((across ? max_x : max_y) > 0 && /auto|scroll/.test(across ? overflowX : overflowY)) return one;
  }
  return page;
}

/** In a tab that is not shown Chrome tells nobody of scrolling until it is. */
function tellScrolled(scroller: Element): void {
  if (document.visibilityState === 'visible') return;
  const isPage = scroller === document.scrollingElement;
  (isPage ? document : scroller).dispatchEvent(new Event('scroll', { bubbles: isPage }));
}

const LINE = 40;
const PAGE_SHARE = 0.875;

/** What the keys that scroll do where no text is edited. */
export function keyScroll(target: Element, key: string, shift: boolean): void {
  const page = innerHeight * PAGE_SHARE;
  const options: Record<string, ScrollOptions> = {
    ArrowDown: { by_y: LINE },
    ArrowUp: { by_y: -LINE },
    ArrowRight: { by_x: LINE },
    ArrowLeft: { by_x: -LINE },
    PageDown: { by_y: page },
    PageUp: { by_y: -page },
    Home: { to: 'top' },
    End: { to: 'bottom' },
    ' ': { by_y: shift ? -page : page },
  };
  const wanted = Object.hasOwn(options, key) ? options[key] : undefined;
  if (wanted) scroll(target, wanted);
}
