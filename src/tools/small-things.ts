/** `clipboard_write` and `notify` (tools.md, Catalogue): small things people ask for. */
import { AgentError } from '../protocol/errors';
import { utf8Length } from '../protocol/json';
import { defineTool } from './tool';

export const clipboardWrite = defineTool<{ text: string }>({
  name: 'clipboard_write',
  description:
    'Puts text on the clipboard of the device, in place of what was there, so that the person can paste it anywhere. ' +
    'It works in the background and moves no focus. The clipboard is never read. Returns bytes, the length of the text in UTF-8.',
  input_schema: {
    type: 'object',
    additionalProperties: false,
    required: ['text'],
    properties: {
      text: {
        type: 'string',
        minLength: 1,
        maxLength: 1_048_576,
        description: 'The text, without formatting.',
      },
    },
  },
  class: 'interact',
  read_only: false,
  os_action: 'clipboard.write',
  requires_confirmation: false,
  async run({ text }, { writeClipboard }) {
    if (!(await writeClipboard(text))) {
      throw new AgentError('unavailable', 'The browser could not write to the clipboard now. Try again.');
    }
    return { output: { bytes: utf8Length(text) } };
  },
});

/** So that whoever answers the agent's own questions by notification tells these apart. */
export const NOTIFY_PREFIX = 'notify:';

export const notify = defineTool<{ title: string; message: string }>({
  name: 'notify',
  description:
    'Shows a notification to the person at the device, marked as a message of the platform. Use it to tell that something is done or needs attention. ' +
    'It is plain text without buttons, it asks nothing, and whether the person saw it is not known. Returns notification_id; shown is false when the ' +
    'person has turned notifications off for this browser.',
  input_schema: {
    type: 'object',
    additionalProperties: false,
    required: ['title', 'message'],
    properties: {
      title: { type: 'string', minLength: 1, maxLength: 100, description: 'One short line.' },
      message: { type: 'string', minLength: 1, maxLength: 1_000, description: 'What there is to say.' },
    },
  },
  class: 'interact',
  read_only: false,
  os_action: 'notification.show',
  requires_confirmation: false,
  async run({ title, message }, { browser, request_id }) {
    // Its own mark, so that a platform's words are not taken for a question of the browser's.
    const contextMessage = browser.i18n.getMessage('notification_of_platform');
    const options = {
      type: 'basic' as const,
      iconUrl: browser.runtime.getURL('icons/icon-128.png'),
      title,
      message,
      contextMessage,
    };
    const notification_id = await browser.notifications.create(`${NOTIFY_PREFIX}${request_id}`, options);
    // The polyfill does not know this one.
    const level = await (
      browser.notifications as unknown as { getPermissionLevel?(): Promise<string> }
    ).getPermissionLevel?.();
    return { output: { notification_id, shown: level !== 'denied' } };
  },
});
