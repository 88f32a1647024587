/** Every tool of this kind of device, each declared once, in the order the catalogue shows them. */
import { consoleRead, consoleWatch } from './console';
import { describeTools } from './describe-tools';
import { downloadList, downloadStart } from './downloads';
import { fileList, fileMove, fileReadImage, fileReadText, fileRemove, fileStat, fileWrite } from './files';
import { osCapabilities, osExecute } from './os-interface';
import { pageClick, pageFill, pageHover, pagePress, pageScroll, pageSelect } from './page-actions';
import { pageEvaluate } from './page-evaluate';
import { pageSnapshot } from './page-snapshot';
import { pageText } from './page-text';
import { pageWait } from './page-wait';
import { screenshot } from './screenshot';
import { clipboardWrite, notify } from './small-things';
import { workspaceStoragePath } from './storage-path';
import { tabActivate, tabClose, tabList, tabNavigate, tabOpen } from './tabs';
import type { Tool } from './tool';
import { workspaceInfo } from './workspace-info';

export const TOOLS: readonly Tool[] = [
  describeTools(() => TOOLS),
  workspaceInfo,
  screenshot,
  tabList,
  tabOpen,
  tabClose,
  tabActivate,
  tabNavigate,
  pageSnapshot,
  pageText,
  pageClick,
  pageFill,
  pageSelect,
  pagePress,
  pageHover,
  pageScroll,
  pageWait,
  pageEvaluate,
  fileList,
  fileStat,
  fileReadText,
  fileReadImage,
  fileWrite,
  fileMove,
  fileRemove,
  workspaceStoragePath,
  consoleRead,
  consoleWatch,
  downloadStart,
  downloadList,
  clipboardWrite,
  notify,
  osCapabilities(() => TOOLS),
  osExecute(() => TOOLS),
];

const byName = new Map(TOOLS.map((tool) => [tool.name, tool]));

/** The tool of that name, or undefined. */
export function findTool(name: string): Tool | undefined {
  return byName.get(name);
}
