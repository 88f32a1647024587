/**
 * A question to the person as a notification of the system, with its two answers as buttons. The polyfill's
 * types know no buttons, hence `chrome` here.
 */

export interface ShownQuestion {
  question_id: string;
  title: string;
  message: string;
  context: string;
  /** In this order. */
  buttons: readonly [allow: string, decline: string];
}

/** Tells questions from the notifications that tools show. */
const PREFIX = 'question:';
const ALLOW_BUTTON = 0;

export interface QuestionListeners {
  answered(question_id: string, allow: boolean): void;
  /** The notification itself was clicked, which is no answer. */
  opened(): void;
}

/** Call it synchronously at the start of the worker, or Chrome does not wake it for an answer. */
export function onQuestionNotification({ answered, opened }: QuestionListeners): void {
  chrome.notifications.onButtonClicked.addListener((id, button) => {
    if (id.startsWith(PREFIX)) answered(id.slice(PREFIX.length), button === ALLOW_BUTTON);
  });
  chrome.notifications.onClicked.addListener((id) => {
    if (id.startsWith(PREFIX)) opened();
  });
}

export async function showQuestion(question: ShownQuestion): Promise<void> {
  const { question_id, title, message, context, buttons } = question;
  await chrome.notifications.create(PREFIX + question_id, {
    type: 'basic',
    iconUrl: chrome.runtime.getURL('icons/icon-128.png'),
    title,
    message,
    contextMessage: context,
    buttons: buttons.map((text) => ({ title: text })),
    requireInteraction: true,
  });
}

export async function hideQuestion(question_id: string): Promise<void> {
  await chrome.notifications.clear(PREFIX + question_id);
}
