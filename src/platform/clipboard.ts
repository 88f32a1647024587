/**
 * The clipboard, from the offscreen document. The clipboard API asks for a focused document, which this one
 * never is; the older command does not, with the permission `clipboardWrite`.
 */

/** False when the browser did not take it. */
export function copyText(text: string): boolean {
  let given = false;
  const give = (event: ClipboardEvent): void => {
    // The text itself, not what an element would make of it.
    event.clipboardData?.setData('text/plain', text);
    event.preventDefault();
    given = event.clipboardData !== null;
  };
  document.addEventListener('copy', give, { once: true });
  try {
    return document.execCommand('copy') && given;
  } finally {
    document.removeEventListener('copy', give);
  }
}
