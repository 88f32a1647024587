/** The popup's shell: the one place where it talks to the browser and to the other contexts. */
import { render } from 'preact';
import { browser } from '../../platform/browser';
import { CONNECTION_PORT, QUESTION_PREFIX } from '../../platform/messages';
import { send } from '../../platform/messaging';
import { type FeedPort, feedConnection } from '../connection-feed';
import { createTexts, labelDocument } from '../i18n';
import { PopupApp, type PopupPorts } from './popup-app';

const texts = createTexts(browser.i18n);

const ports: PopupPorts = {
  texts,
  version: browser.runtime.getManifest().version,
  now: () => Date.now(),
  feedConnection: (tell) =>
    feedConnection({ connect: connectToOffscreen, ensure: () => send('offscreen.ensure', {}), after }, tell),
  getOverview: () => send('overview.get', {}),
  listStorages: async () => (await send('storages.list', {})).storages ?? [],
  async saveEnrollment(text) {
    const answer = await send('enrollment.save', { text });
    return answer.saved ? null : answer.problem;
  },
  forgetEnrollment: () => send('enrollment.forget', {}),
  setPaused: (paused) => send('pause.set', { paused }),
  onQuestions(changed) {
    const listener = (changes: object, area: string): void => {
      if (area === 'session' && Object.keys(changes).some((key) => key.startsWith(QUESTION_PREFIX)))
        changed();
    };
    browser.storage.onChanged.addListener(listener);
    return () => browser.storage.onChanged.removeListener(listener);
  },
  answerQuestion: (question_id, allow) => send('question.answer', { question_id, allow }),
  retryNow: () => send('relay.retry_now', {}),
};

function connectToOffscreen(): FeedPort {
  const port = browser.runtime.connect({ name: CONNECTION_PORT });
  return {
    onMessage: port.onMessage,
    onDisconnect: {
      addListener: (listener) =>
        port.onDisconnect.addListener(() => {
          // Reading it tells Chrome that a missing offscreen document is no surprise.
          void browser.runtime.lastError;
          listener();
        }),
    },
    disconnect: () => port.disconnect(),
  };
}

function after(ms: number, callback: () => void): () => void {
  const timer = setTimeout(callback, ms);
  return () => clearTimeout(timer);
}

// What this page finds out when it looks, the badge says, too.
send('grants.look', {}).catch(() => undefined);
labelDocument(document, texts, 'extension_name');
render(<PopupApp ports={ports} />, document.getElementById('app') as HTMLElement);
