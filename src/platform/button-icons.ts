/** The pictures of the extension's button, one for each thing it tells. Names and files only. */

/**
 * Told apart by shape, not by colour: a filled tile with the letter (online), a ring with three dots
 * (connecting), a tile with a dot at its corner (needs a person), two bars (paused), a broken ring (not enrolled).
 */
export const BUTTON_ICONS = ['online', 'connecting', 'attention', 'paused', 'not_enrolled'] as const;
export type ButtonIcon = (typeof BUTTON_ICONS)[number];

/** Pixels: what toolbars take at 100, 150 and 200 %. */
export const BUTTON_ICON_SIZES = [16, 24, 32] as const;

/** Path in the package, without a leading `/`. */
export function buttonIconFile(icon: ButtonIcon, size: number): string {
  return `icons/button-${icon}-${size}.png`;
}

/** What `action.setIcon` takes: size → path from the root of the extension. */
export function buttonIconPaths(icon: ButtonIcon): Record<string, string> {
  return Object.fromEntries(BUTTON_ICON_SIZES.map((size) => [size, `/${buttonIconFile(icon, size)}`]));
}
