/** Chromium's own accessibility tree beside what page_snapshot tells, element by element. */
import { EXTENSION_ORIGIN } from './agent-browser';
import type { CdpSession } from './cdp';

export interface RoleAndName {
  role: string;
  name: string;
}

/** By Chromium's number for the DOM node. */
export type Nodes = Map<number, RoleAndName>;

/** Roles that stand for no element of their own: text, lines, boxes, and what the outline tells as text. */
const NO_ELEMENT = new Set([
  'none',
  'generic',
  'StaticText',
  'InlineTextBox',
  'LineBreak',
  'ListMarker',
  'RootWebArea',
  'LabelText',
  'Legend',
  'Figcaption',
  'MenuListPopup',
  'LayoutTable',
  'LayoutTableRow',
  'LayoutTableCell',
  'DescriptionList',
  'SvgRoot',
  'Abbr',
  'Ruby',
  'RubyAnnotation',
]);

/** Chromium's names for what ARIA has no role for, and ours. */
const OURS: Readonly<Record<string, string>> = {
  Iframe: 'iframe',
  DisclosureTriangle: 'disclosure',
  Canvas: 'canvas',
  Video: 'video',
  Audio: 'audio',
  PluginObject: 'embedded object',
  EmbeddedObject: 'embedded object',
  Date: 'date',
  DateTime: 'date and time',
  InputTime: 'time input',
  ColorWell: 'color well',
  MathMLMath: 'math',
};

interface AxNode {
  ignored: boolean;
  role?: { value: string };
  name?: { value: string };
  backendDOMNodeId?: number;
}

interface DomNode {
  backendNodeId: number;
  nodeType: number;
  children?: DomNode[];
  shadowRoots?: (DomNode & { shadowRootType: string })[];
  contentDocument?: DomNode;
}

interface FrameTree {
  frame: { id: string };
  childFrames?: FrameTree[];
}

/** Every frame of the page that is in its own process. */
export async function frameIds(page: CdpSession): Promise<string[]> {
  const { frameTree } = await page.send('Page.getFrameTree');
  const ids = ({ frame, childFrames = [] }: FrameTree): string[] => [frame.id, ...childFrames.flatMap(ids)];
  return ids(frameTree as FrameTree);
}

/** What Chromium has, without what it makes itself inside of fields and players. */
export async function chromiumNodes(page: CdpSession): Promise<Nodes> {
  const { root } = await page.send('DOM.getDocument', { depth: -1, pierce: true });
  const ofPage = new Set<number>();
  const walk = (node: DomNode): void => {
    if (node.nodeType === 1) ofPage.add(node.backendNodeId);
    const shadows = (node.shadowRoots ?? []).filter(({ shadowRootType }) => shadowRootType !== 'user-agent');
    const inner = node.contentDocument ? [node.contentDocument] : [];
    for (const child of [...(node.children ?? []), ...shadows, ...inner]) walk(child);
  };
  walk(root as DomNode);
  const found: Nodes = new Map();
  for (const frameId of await frameIds(page)) {
    const { nodes } = await page.send('Accessibility.getFullAXTree', { frameId });
    for (const { ignored, role, name, backendDOMNodeId: id } of nodes as AxNode[]) {
      if (ignored || !role || id === undefined || !ofPage.has(id)) continue;
      if (NO_ELEMENT.has(role.value) || role.value.startsWith('MathML') !== (role.value === 'MathMLMath'))
        continue;
      found.set(id, { role: OURS[role.value] ?? role.value, name: folded(name?.value ?? '') });
    }
  }
  return found;
}

/** One element as the outline tells it. */
export interface OutlineLine extends RoleAndName {
  ref: string;
}

const LINE = /^ *- ([a-z -]+?)(?: ("(?:[^"\\]|\\.)*"))? \[.*?ref=([0-9a-z]+)\]/;

/** The elements in the text of page_snapshot. */
export function outlineLines(snapshot: string): OutlineLine[] {
  return snapshot.split('\n').flatMap((line) => {
    const [, role = '', name, ref = ''] = LINE.exec(line) ?? [];
    return ref === '' ? [] : [{ role, name: name === undefined ? '' : (JSON.parse(name) as string), ref }];
  });
}

/** What page_snapshot told, by the elements its refs name, as the page agents in the page know them. */
export async function outlineNodes(page: CdpSession, snapshot: string): Promise<Nodes> {
  const lines = outlineLines(snapshot).filter(({ role }) => role !== 'generic');
  const found: Nodes = new Map();
  for (const contextId of await agentWorlds(page)) {
    const refs = JSON.stringify(lines.map(({ ref }) => ref));
    const { result } = await page.send('Runtime.evaluate', {
      contextId,
      expression: `${refs}.map((ref) => {
        try { return globalThis[Symbol.for('endue.page-agent')].refs.find(ref) } catch { return null }
      })`,
    });
    const { result: properties } = await page.send('Runtime.getProperties', {
      objectId: (result as { objectId: string }).objectId,
      ownProperties: true,
    });
    for (const { name, value } of properties as { name: string; value?: { objectId?: string } }[]) {
      const line = lines[Number(name)];
      if (!line || !value?.objectId) continue;
      const { node } = await page.send('DOM.describeNode', { objectId: value.objectId });
      found.set((node as DomNode).backendNodeId, { role: line.role, name: folded(line.name) });
    }
  }
  return found;
}

/** The worlds of the extension in the page's frames. */
async function agentWorlds(page: CdpSession): Promise<number[]> {
  const worlds: number[] = [];
  const stop = page.connection.on('Runtime.executionContextCreated', ({ context }, sessionId) => {
    const { id, origin } = context as { id: number; origin: string };
    if (sessionId === page.sessionId && origin === EXTENSION_ORIGIN) worlds.push(id);
  });
  // Enabling tells of every context that is there before it is answered.
  await page.send('Runtime.enable');
  await page.send('Runtime.disable');
  stop();
  return worlds;
}

export interface Comparison {
  /** Elements that either of the two tells of. */
  nodes: number;
  differences: string[];
}

export function compared(chromium: Nodes, ours: Nodes): Comparison {
  const ids = new Set([...chromium.keys(), ...ours.keys()]);
  const differences = [...ids].flatMap((id) => {
    const one = shown(chromium.get(id));
    const other = shown(ours.get(id));
    return one === other ? [] : [`Chromium: ${one}, page_snapshot: ${other}`];
  });
  return { nodes: ids.size, differences };
}

function shown(node: RoleAndName | undefined): string {
  return node ? `${node.role} ${JSON.stringify(node.name)}` : 'nothing';
}

/** Spaces as nobody sees them, and no signs of icon fonts. */
function folded(text: string): string {
  return text
    .replace(/[\uE000-\uF8FF]/g, '')
    .replace(/\s+/g, ' ')
    .trim();
}
