/** Keeps the questions in `storage.session`: it outlives the service worker, and ends with the browser. */
import type { Storage } from 'webextension-polyfill';
import { QUESTION_PREFIX } from '../platform/messages';
import type { Question, QuestionStore } from './confirmation';

export function createQuestionStore(session: Storage.StorageArea): QuestionStore {
  return {
    async all() {
      const stored = await session.get(null);
      // Written by this module alone, and readable by no page.
      return Object.entries(stored)
        .filter(([key]) => key.startsWith(QUESTION_PREFIX))
        .map(([, question]) => question as Question);
    },
    put: (question) => session.set({ [QUESTION_PREFIX + question.question_id]: question }),
    remove: (question_id) => session.remove(QUESTION_PREFIX + question_id),
  };
}
