import { describe, expect, it } from 'vitest';
import type { ConnectionState, PendingQuestion } from '../../../src/platform/messages';
import { entryInWords, outcomeInWords } from '../../../src/ui/activity/activity-words';
import { buttonFor } from '../../../src/ui/button-words';
import { questionNotification, questionPlace } from '../../../src/ui/question-words';
import { texts } from './texts';

const now = new Date(2026, 4, 3, 14, 7).getTime();
const question: PendingQuestion = {
  question_id: 'q1',
  tool: 'page_evaluate',
  page: { host: 'a.test', title: '<b>Bank</b>' },
  details: [],
  deadline: now + 60_000,
};
const plain = (text: string): string => text.replace(/\s/g, ' ');

describe('tools.md, confirmation: a question in words', () => {
  it('the notification says what, where, by which tool and until when, and has two answers', () => {
    const en = questionNotification(question, now, texts('en', 'en-US'));
    expect({ ...en, context: plain(en.context) }).toEqual({
      question_id: 'q1',
      title: 'Allow: Run a script in the page?',
      message: 'a.test · <b>Bank</b>',
      context: 'page_evaluate · until 2:08:00 PM',
      buttons: ['Allow', 'Decline'],
    });
    const ko = questionNotification(question, now, texts('ko'));
    expect([ko.title, ...ko.buttons]).toEqual(['허용할까요? 페이지에서 스크립트 실행', '허용', '거절']);
  });

  it('the notification shows the first of what the tool was given in one line, and says where the rest is', () => {
    const detail = { kind: 'script' as const, text: 'document\n  .title', left_out: 0, concealed: false };
    const messageFor = (details: PendingQuestion['details']) =>
      questionNotification({ ...question, details }, now, texts('en', 'en-US')).message.split('\n');
    expect(messageFor([detail])).toEqual(['a.test · <b>Bank</b>', 'Script: document .title']);
    const [, cut, more] = messageFor([{ ...detail, text: 'x'.repeat(5_000) }]);
    expect(cut).toBe(`Script: ${'x'.repeat(119)}…`);
    expect(more).toBe('Open the popup to see all of it');
    expect(messageFor([{ ...detail, left_out: 1 }])[1]).toBe('Script: document .title…');
    // What may be a password is not in it.
    const typed = { kind: 'text' as const, text: 'hunter2', left_out: 0, concealed: true };
    expect(messageFor([typed])).toEqual(['a.test · <b>Bank</b>']);
  });

  it('case 5: a deadline that no calendar knows does not keep the question from being shown', () => {
    for (const deadline of [1e300, Number.MAX_SAFE_INTEGER]) {
      expect(questionNotification({ ...question, deadline }, now, texts('en')).context).toContain('until');
    }
  });

  it('a tool without a page, and a page without a title', () => {
    const en = texts('en');
    expect(questionPlace({ ...question, page: null }, en)).toBe('This browser');
    expect(questionPlace({ ...question, page: { host: 'a.test', title: '' } }, en)).toBe('a.test');
    // Both ends of a long host stay: the last tells whose it is.
    const long = `www.bank.test.${'x'.repeat(200)}.evil.test`;
    expect(questionPlace({ ...question, page: { host: long, title: '' } }, en)).toMatch(
      /^www\.bank.*….*\.evil\.test$/,
    );
  });
});

describe('ui.md: the button', () => {
  it('says that something waits for the person before what the connection does', () => {
    const en = texts('en', 'en-US');
    const button = (connection: ConnectionState, questions: number) =>
      buttonFor({ connection, questions, lost: ['Work'], now, texts: en });
    const online = { state: 'online', host: 'a.test', since: now } as const;
    expect(buttonFor({ connection: online, questions: 0, lost: [], now, texts: en })).toMatchObject({
      text: '',
      urgent: false,
    });
    expect(button(online, 2)).toEqual({
      icon: 'attention',
      text: '?',
      urgent: true,
      tooltip: 'Waiting for your answer: 2',
    });
    expect(button({ state: 'paused' }, 1).text).toBe('?');
    expect(button({ state: 'paused' }, 0).text).toBe('‖');
  });
});

describe('the activity', () => {
  it('os-interface.md: names an action of the common contract with the tool behind it', () => {
    const en = texts('en');
    expect(entryInWords({ tool: 'os_execute', behind: 'tab_open' }, en)).toEqual({
      text: 'Run a device action: Open a tab',
      verbatim: false,
    });
    expect(entryInWords({ tool: 'os_execute' }, en).text).toBe('Run a device action');
    expect(entryInWords({ tool: '<b>' }, en)).toEqual({ text: '<b>', verbatim: true });
  });

  it('says what came of asking', () => {
    const en = texts('en');
    const words = (
      outcome: 'ok' | 'user_declined' | 'waiting' | 'timeout',
      asked?: 'allowed' | 'declined' | 'unanswered' | 'waiting',
    ) => outcomeInWords({ outcome, ...(asked ? { asked } : {}) }, en);
    expect(words('ok')).toBe('Done');
    expect(words('ok', 'allowed')).toBe('Done · you allowed it');
    expect(words('timeout', 'allowed')).toBe('Timed out · you allowed it');
    expect(words('user_declined', 'declined')).toBe('Declined');
    expect(words('user_declined', 'unanswered')).toBe('Declined · no answer');
    expect(words('waiting', 'waiting')).toBe('Waiting for you');
  });
});
