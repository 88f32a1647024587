/** `workspace_info`: what kind of device this is (tools.md, workspace_info). No titles, addresses or tokens. */
import type { JsonObject } from '../protocol/json';
import {
  ANNOUNCED_CONCURRENCY,
  ANSWERS_KEPT_MS,
  CAPTURES_PER_SECOND,
  DEFAULT_TIMEOUT_MS,
  IDS_KEPT_MS,
  MAX_FRAME_BYTES,
  PICTURES_KEPT_BYTES,
  PICTURES_KEPT_MS,
  PROGRESS_PER_SECOND,
  WORKSPACE_INFO_BYTES,
} from '../protocol/limits';
import { storageRows } from './storage-rows';
import { defineTool } from './tool';

/** Of the whole object, what the Storages may take: the rest is small and does not grow. */
const STORAGES_BYTES = (WORKSPACE_INFO_BYTES * 3) / 4;

const AGENT_NAME = 'endue-chrome-agent';

export const LIMITS: JsonObject = {
  max_frame_bytes: MAX_FRAME_BYTES,
  concurrency: ANNOUNCED_CONCURRENCY,
  default_timeout_ms: DEFAULT_TIMEOUT_MS,
  progress_per_second: PROGRESS_PER_SECOND,
  captures_per_second: CAPTURES_PER_SECOND,
  pictures_kept_ms: PICTURES_KEPT_MS,
  pictures_kept_bytes: PICTURES_KEPT_BYTES,
  answers_kept_ms: ANSWERS_KEPT_MS,
  ids_kept_ms: IDS_KEPT_MS,
};

export const workspaceInfo = defineTool<Record<never, never>, { windows: number; tabs: number }>({
  name: 'workspace_info',
  description:
    'Tells what this device is: agent and browser with their versions, operating system (os, arch), language and time zone, ' +
    'screen size, how many windows and tabs are open, attached Storages, what the policy forbids, and the limits that apply. ' +
    'Use it to learn about the surroundings before planning work. It returns no page titles and no addresses; tab_list does.',
  input_schema: { type: 'object', properties: {}, additionalProperties: false },
  class: 'observe',
  read_only: true,
  os_action: 'workspace.info',
  requires_confirmation: false,
  async look(_input, browser) {
    const windows = await browser.windows.getAll({ populate: true });
    return {
      windows: windows.length,
      tabs: windows.reduce((sum, { tabs = [] }) => sum + tabs.length, 0),
    };
  },
  async run(_input, { browser, facts, policy, screen, storage }, looked) {
    const [tabs, storages] = await Promise.all([looked, storage.list()]);
    return {
      output: {
        agent: { name: AGENT_NAME, version: facts.version },
        browser: { name: facts.browser_name, version: facts.browser_version },
        os: facts.os,
        arch: facts.arch,
        locale: browser.i18n.getUILanguage(),
        time_zone: Intl.DateTimeFormat().resolvedOptions().timeZone,
        screen: screen && { width: screen.width, height: screen.height, scale: screen.scale },
        tabs,
        storages: storageRows(storages ?? [], STORAGES_BYTES),
        policy: { managed: policy.managed, blocked_tools: [...policy.blocked_tools].sort() },
        limits: LIMITS,
      },
    };
  },
});
