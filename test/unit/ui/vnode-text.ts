/** What a component without hooks shows, as a flat list of its elements: no DOM is needed to look at them. */
import type { ComponentChildren, FunctionComponent, VNode } from 'preact';

export interface Shown {
  type: string;
  props: Record<string, unknown>;
  text: string;
}

export function shownBy(node: ComponentChildren): Shown[] {
  if (Array.isArray(node)) return node.flatMap(shownBy);
  if (!isVNode(node)) return [];
  const { type, props } = node;
  if (typeof type === 'function') return shownBy((type as FunctionComponent)(props));
  const { children, ...own } = props as { children?: ComponentChildren };
  return [{ type, props: own, text: textOf(children) }, ...shownBy(children)];
}

export function textOf(node: ComponentChildren): string {
  if (Array.isArray(node)) return node.map(textOf).join('');
  if (isVNode(node)) {
    const { type, props } = node;
    const inner = typeof type === 'function' ? (type as FunctionComponent)(props) : props.children;
    return textOf(inner as ComponentChildren);
  }
  return typeof node === 'string' || typeof node === 'number' ? String(node) : '';
}

function isVNode(node: unknown): node is VNode<{ children?: ComponentChildren }> {
  return typeof node === 'object' && node !== null && 'type' in node && 'props' in node;
}
