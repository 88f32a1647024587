/** What an action changed in a document: how often its content changed, where the focus is, what it announces. */
import { describeElement, oneLine } from './describe-element';
import { tagOf } from './dom';
import type { Refs } from './refs';
import { attributeOf, focusedElement, openRoots, textOf, treeOf } from './tree';

export interface Look {
  /** How many changes of the content have been seen so far. */
  changes: number;
  url: string;
  title: string;
  focus: { ref: string; element: string } | null;
  /** False while the document is being loaded. */
  loaded: boolean;
}

export interface Message {
  role: string;
  ref: string;
  text: string;
}

/** Parts of a page that tell a person of something: dialogs, and what a screen reader says by itself. */
const MESSAGES =
  'dialog[open], [role="dialog"], [role="alertdialog"], [role="alert"], [role="status"], [role="log"], [aria-live="polite"], [aria-live="assertive"], output';
const MOST_MESSAGES = 5;
const LONGEST_MESSAGE = 300;
const MOST_READ = 5_000;

/** Follows a document from just before an action until its effects are over. */
export class Observation {
  private changes = 0;
  private readonly observer = new MutationObserver((records) => this.count(records));
  private readonly before: ReadonlyMap<Element, string>;

  constructor(
    private readonly refs: Refs,
    target: Element | null,
  ) {
    const roots = new Set<Node>([document]);
    for (let root = target && treeOf(target); root instanceof ShadowRoot; root = treeOf(root.host)) {
      roots.add(root);
    }
    for (const root of roots) {
      this.observer.observe(root, {
        subtree: true,
        childList: true,
        characterData: true,
        attributes: true,
      });
    }
    this.before = shownMessages();
  }

  look(): Look {
    this.count(this.observer.takeRecords());
    const focused = focusedElement();
    return {
      changes: this.changes,
      url: location.href,
      title: document.title,
      focus: focused && { ref: this.refs.of(focused), element: describeElement(focused) },
      loaded: document.readyState === 'complete',
    };
  }

  /** What was not shown before: the dialogs and announcements that came, or now say something else. */
  messages(): Message[] {
    return [...shownMessages()]
      .filter(([element, text]) => text !== '' && this.before.get(element) !== text)
      .slice(0, MOST_MESSAGES)
      .map(([element, text]) => ({
        role: attributeOf(element, 'role') ?? (tagOf(element) === 'dialog' ? 'dialog' : 'status'),
        ref: this.refs.of(element),
        text: oneLine(text, LONGEST_MESSAGE),
      }));
  }

  end(): void {
    this.observer.disconnect();
  }

  /** Styles that scripts move step by step are no news. */
  private count(records: MutationRecord[]): void {
    this.changes += records.filter(({ attributeName }) => attributeName !== 'style').length;
  }
}

function shownMessages(): ReadonlyMap<Element, string> {
  const found = openRoots().flatMap((root) => [...root.querySelectorAll(MESSAGES)]);
  const shown = found.filter((element) => element.checkVisibility({ checkVisibilityCSS: true }));
  return new Map(shown.map((element) => [element, textOf(element).slice(0, MOST_READ)]));
}
