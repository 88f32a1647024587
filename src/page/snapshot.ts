/** `page_snapshot` in this document: the outline as lines of text, one for each element that means something. */

import { AgentError } from '../protocol/errors';
import type { PageContext } from './commands';
import { contentType, title } from './dom';
import { type ElementTarget, findElement } from './find-element';
import { framePlaces, isFrame, ownPlace } from './frame-places';
import { fold } from './names';
import { type OutlineChild, type OutlineNode, outlineOf } from './outline';
import { PartsWriter, type TextWithHoles } from './parts';
import { quoted, shownValue, statesOf } from './states';

export interface PageText extends TextWithHoles {
  title: string;
  content_type: string;
  /** This document's number among the frames of its parent; -1 when it has none. */
  place: number;
}

/** The whole document, or what is in the element that `ref` or `selector` names. */
export function snapshot(target: ElementTarget, { refs }: PageContext): PageText {
  const root = rootOf(target, refs);
  const { children, names } = root ? outlineOf(root) : outlineOf();
  const writer = new PartsWriter();
  const placeOf = framePlaces();

  const write = (child: OutlineChild, depth: number): void => {
    const indent = '  '.repeat(depth);
    if (typeof child === 'string') {
      writer.line(`${indent}- text: ${child}`);
      return;
    }
    const { element, role, name } = child;
    const described = names.description(element, name);
    const states = statesOf(element, role, name);
    if (role === 'generic' && names.view.style(element).pointer) states.push('clickable');
    if (described !== '') states.push(quoted('description', described));
    states.push(`ref=${refs.of(element)}`);
    const head = `${indent}- ${role}${name === '' ? '' : ` ${JSON.stringify(name)}`} [${states.join('] [')}]`;
    const value = shownValue(element, role);
    const inside = worthTelling(child, value);
    const [only] = inside;
    if (value !== null) writer.line(`${head}: ${value}`);
    else if (inside.length === 1 && typeof only === 'string') {
      writer.line(`${head}: ${only}`);
      return;
    } else writer.line(head);
    if (isFrame(element)) writer.hole({ ...placeOf(element), depth: depth + 1 });
    for (const one of inside) write(one, depth + 1);
  };
  for (const child of children) write(child, 0);
  return { ...pageFacts(), ...writer.finish() };
}

/** What stands in the name or the value already is not told again. */
function worthTelling({ name, children }: OutlineNode, value: string | null): OutlineChild[] {
  const texts = children.filter((child) => typeof child === 'string');
  if (texts.length < children.length) return children;
  const text = texts.join(' ');
  return text === name || text === value ? [] : children;
}

export function rootOf(target: ElementTarget, refs: PageContext['refs']): Element | null {
  if (target.ref === undefined && target.selector === undefined) return null;
  const found = findElement(target, refs);
  if (!found) throw new AgentError('element_not_found');
  return found;
}

export function pageFacts(): Omit<PageText, keyof TextWithHoles> {
  return { title: fold(title(document)), content_type: contentType(document), place: ownPlace() };
}
