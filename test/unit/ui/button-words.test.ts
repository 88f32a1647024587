import { describe, expect, it } from 'vitest';
import type { ConnectionState } from '../../../src/platform/messages';
import { buttonFor } from '../../../src/ui/button-words';
import { texts } from './texts';

const online: ConnectionState = { state: 'online', host: 'r.test', since: 0 };
const button = (connection: ConnectionState, lost: string[]) =>
  buttonFor({ connection, questions: 0, lost, now: 0, texts: texts('en') });

describe('storage.md, Attaching: the badge tells when one is lost', () => {
  it('nothing lost: the badge of the connection', () => {
    expect(button(online, [])).toMatchObject({ text: '', urgent: false });
    expect(button({ state: 'not_enrolled' }, [])).toMatchObject({ text: '!', urgent: true });
  });

  it('one lost: a person is needed, and the tooltip says for which', () => {
    const { text, urgent, tooltip } = button(online, ['Work', 'Photos']);
    expect({ text, urgent }).toEqual({ text: '!', urgent: true });
    expect(tooltip).toMatch(/^Online\s·\sr\.test.*\nNeeds a repair: Work and Photos$/s);
  });

  it('it comes before a wait that ends by itself, and not before a pause', () => {
    expect(button({ state: 'connecting', host: 'r.test' }, ['Work']).text).toBe('!');
    expect(button({ state: 'paused' }, ['Work'])).toMatchObject({ text: '‖', urgent: false });
    expect(button({ state: 'paused' }, ['Work']).tooltip).toContain('Work');
  });

  it('the picture calls for a person too, unless nothing could be used anyway', () => {
    const icon = (connection: ConnectionState, lost: string[]) => button(connection, lost).icon;
    expect(icon(online, [])).toBe('online');
    expect(icon(online, ['Work'])).toBe('attention');
    expect(icon({ state: 'connecting', host: 'r.test' }, ['Work'])).toBe('attention');
    expect(icon({ state: 'paused' }, ['Work'])).toBe('paused');
    expect(icon({ state: 'not_enrolled' }, ['Work'])).toBe('not_enrolled');
  });
});

describe('a question that waits', () => {
  it('comes before all else, on the picture too', () => {
    const states: ConnectionState[] = [online, { state: 'paused' }, { state: 'not_enrolled' }];
    for (const connection of states) {
      const shown = buttonFor({ connection, questions: 2, lost: [], now: 0, texts: texts('en') });
      expect(shown).toMatchObject({ icon: 'attention', text: '?', urgent: true });
    }
  });
});
