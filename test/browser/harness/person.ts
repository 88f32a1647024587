/** A person in front of a page of the extension: sees what it shows, and acts by real mouse and key events. */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { type AgentBrowser, EXTENSION_ORIGIN } from './agent-browser';
import type { CdpSession } from './cdp';
import { until } from './until';

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

export const POPUP = 'src/ui/popup/popup.html';
export const ACTIVITY_PAGE = 'src/ui/activity/activity.html';
/** As wide as the popup; its height is what Chrome allows one at most. */
export const POPUP_SIZE = { width: 360, height: 600 };

export type Theme = 'light' | 'dark';

export interface LookOptions {
  width: number;
  height: number;
  scale?: number;
}

/** Keys a person presses, with what Chrome must be told of them. */
const KEYS = {
  Tab: { code: 'Tab', windowsVirtualKeyCode: 9 },
  Enter: { code: 'Enter', windowsVirtualKeyCode: 13, text: '\r' },
  Escape: { code: 'Escape', windowsVirtualKeyCode: 27 },
} as const;

const SHIFT = 8;

/** Helpers inside the page: what is visible, and under which name. */
const IN_PAGE = `
  globalThis.__named = (name) => [...document.querySelectorAll('button, a, summary')]
    .filter((part) => part.checkVisibility())
    .filter((part) => (part.innerText.trim() || part.title || part.querySelector('img')?.alt) === name);
`;

export class Person {
  private constructor(
    readonly browser: AgentBrowser,
    readonly page: CdpSession,
  ) {}

  /** Opens a page of the extension in a tab of the popup's width. */
  static async open(browser: AgentBrowser, path = POPUP, size: LookOptions = POPUP_SIZE): Promise<Person> {
    const person = new Person(browser, await browser.openPage(`${EXTENSION_ORIGIN}/${path}`));
    await person.#arrive();
    await person.resize(size);
    return person;
  }

  /** Joins somebody else's tab of the extension. */
  static async at(browser: AgentBrowser, page: CdpSession): Promise<Person> {
    const person = new Person(browser, page);
    await person.#arrive();
    return person;
  }

  async #arrive(): Promise<void> {
    await until('the page is there', () =>
      this.page
        .evaluate<boolean>(`!!document.querySelector('main') && document.readyState === 'complete'`)
        .catch(() => false),
    );
    await this.page.send('Page.bringToFront');
    await this.page.evaluate(IN_PAGE);
  }

  resize({ width, height, scale = 1 }: LookOptions): Promise<unknown> {
    return this.page.send('Emulation.setDeviceMetricsOverride', {
      width,
      height,
      deviceScaleFactor: scale,
      mobile: false,
    });
  }

  /** What a person's system asks of pages. */
  prefer(theme: Theme): Promise<unknown> {
    return this.page.send('Emulation.setEmulatedMedia', {
      features: [{ name: 'prefers-color-scheme', value: theme }],
    });
  }

  /** Everything that can be read, with every gap as one blank. */
  text(): Promise<string> {
    return this.read('body');
  }

  /** The popup's state line. */
  sentence(): Promise<string> {
    return this.read('h1');
  }

  /** What can be read in the first part that fits the selector; '' when there is none. */
  read(selector: string): Promise<string> {
    return this.page.evaluate(
      `(document.querySelector(${JSON.stringify(selector)})?.innerText ?? '').replace(/\\s+/g, ' ').trim()`,
    );
  }

  /** The whole document as text, with every attribute. */
  markup(): Promise<string> {
    return this.page.evaluate('document.documentElement.outerHTML');
  }

  async sees(pattern: RegExp | string): Promise<void> {
    let text = '';
    await until('', async () => {
      text = await this.text();
      return typeof pattern === 'string' ? text.includes(pattern) : pattern.test(text);
    }).catch(() => {
      throw new Error(`the page shows “${text}”, and not ${pattern}`);
    });
  }

  async sentenceIs(pattern: RegExp): Promise<string> {
    let last = '';
    return until('', async () => {
      last = await this.sentence();
      return pattern.test(last) && last;
    }).catch(() => {
      throw new Error(`the popup says “${last}”, and not ${pattern}`);
    });
  }

  /** True when there is a button or link of that name. */
  offers(name: string): Promise<boolean> {
    return this.page.evaluate(`__named(${JSON.stringify(name)}).length > 0`);
  }

  /**
   * Clicks the button or link of that name in its middle. Again when something else had moved there meanwhile, before or
   * during the click: a person sees that and aims anew.
   */
  async click(name: string): Promise<void> {
    await until(`“${name}” is hit`, async () => {
      const { x, y } = await until(`there is “${name}” to click`, () =>
        this.page.evaluate<{ x: number; y: number } | null>(`(() => {
          const part = __named(${JSON.stringify(name)}).find((part) => !part.disabled);
          if (!part) return null;
          part.scrollIntoView({ block: 'nearest' });
          globalThis.__missed = globalThis.__clicked = false;
          addEventListener('mousedown', ({ target }) => { __missed = !part.contains(target); }, { capture: true, once: true });
          addEventListener('click', ({ target }) => { __clicked = part.contains(target); }, { capture: true, once: true });
          const box = part.getBoundingClientRect();
          return { x: box.x + box.width / 2, y: box.y + box.height / 2 };
        })()`),
      );
      const at = { x, y, button: 'left', clickCount: 1 };
      await this.page.send('Input.dispatchMouseEvent', { ...at, type: 'mousePressed' });
      const missed = await this.page.evaluate<boolean>('globalThis.__missed === true').catch(() => false);
      // A button that is let go elsewhere is no click.
      await this.page.send('Input.dispatchMouseEvent', {
        ...at,
        ...(missed && { x: 0, y: 0 }),
        type: 'mouseReleased',
      });
      // It may move between the two, and then nothing was clicked; a page that went away was left by the click.
      return !missed && this.page.evaluate<boolean>('globalThis.__clicked !== false').catch(() => true);
    });
  }

  async press(key: keyof typeof KEYS, { shift = false } = {}): Promise<void> {
    const event = { key, ...KEYS[key], modifiers: shift ? SHIFT : 0 };
    await this.page.send('Input.dispatchKeyEvent', { ...event, type: 'keyDown' });
    await this.page.send('Input.dispatchKeyEvent', { ...event, text: undefined, type: 'keyUp' });
  }

  /** Puts the text where the cursor is, in place of what is selected, as a paste does. */
  async paste(text: string): Promise<void> {
    // The box may come a moment after the sentence; a person sees it first.
    await until('a field has the focus', () =>
      this.page.evaluate<boolean>(`(() => {
        const part = document.activeElement;
        part.select?.();
        return part.matches('input, textarea');
      })()`),
    );
    await this.page.send('Input.insertText', { text });
  }

  /** What has the focus: the text of a button, or the id of a field. */
  focus(): Promise<string> {
    return this.page.evaluate(
      `(({ activeElement: part }) => part.id || (part.matches('main, body') ? part.localName : part.innerText.trim()))(document)`,
    );
  }

  /** Whether one can see what has the focus. */
  focusIsVisible(): Promise<boolean> {
    return this.page.evaluate(`(() => {
      const { outlineStyle, outlineWidth } = getComputedStyle(document.activeElement);
      return outlineStyle !== 'none' && parseFloat(outlineWidth) >= 2;
    })()`);
  }

  /** What stands in the way of people with disabilities, in light and dark: one line each. */
  async barriers(): Promise<string[]> {
    const found: string[] = [];
    for (const theme of ['light', 'dark'] as const) {
      await this.prefer(theme);
      found.push(...(await this.#axe()).map((line) => `${theme}: ${line}`));
    }
    await this.prefer('light');
    return found;
  }

  #axe(): Promise<string[]> {
    return this.page.evaluate(`(async () => {
      if (!globalThis.axe) { ${AXE}; }
      const { violations } = await axe.run();
      return violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => id + ': ' + html));
    })()`);
  }

  /** Whether something is wider than the window. */
  isTooWide(): Promise<boolean> {
    return this.page.evaluate(
      `(({ scrollWidth, clientWidth }) => scrollWidth > clientWidth)(document.documentElement)`,
    );
  }

  /** The window as WebP, less than half of what it would be as PNG. */
  async picture(): Promise<Buffer> {
    const { data } = await this.page.send('Page.captureScreenshot', { format: 'webp', quality: 90 });
    return Buffer.from(data as string, 'base64');
  }

  leave(): Promise<unknown> {
    return this.page.close();
  }
}
