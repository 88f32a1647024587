import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Attention, afterVisit, cardWords } from '../../../src/ui/storages/storage-words';
import { readVisitNote, type VisitNote, writeVisitNote } from '../../../src/ui/storages/visit-note';

const note = (step: VisitNote['step']): VisitNote => ({ step, storage_id: 's1' });

describe('storage.md, Attaching: one button that repairs it', () => {
  it('kept: nothing to do', () => {
    expect(cardWords('kept', null)).toEqual({ heading: null, help: null, action: null, session_only: false });
  });

  it('this session only: the page must leave before Chrome asks again', () => {
    expect(cardWords('this_session', null)).toMatchObject({
      help: 'storage_this_session_help',
      action: { label: 'storage_keep', does: 'keep' },
    });
  });

  it.each([
    [null, 'storage_lost_help', 'storage_repair'],
    ['finish', 'storage_finish_help', 'storage_finish_action'],
    ['not_kept', 'storage_not_kept_help', 'storage_repair'],
    ['refused', 'storage_refused_help', 'storage_repair'],
    ['busy', 'storage_busy_help', 'storage_repair'],
  ] as const)('lost (%s): Chrome asks at the button', (attention, help, label) => {
    expect(cardWords('lost', attention)).toMatchObject({ help, action: { label, does: 'ask' } });
  });

  it('a folder that is gone is chosen again, whatever the permission says', () => {
    for (const permission of ['kept', 'this_session', 'lost'] as const) {
      expect(cardWords(permission, 'gone')).toMatchObject({
        help: 'storage_gone_help',
        action: { does: 'choose' },
      });
    }
  });

  it('who chose “this time” on purpose may stay with it', () => {
    const offering = (['view', 'finish', 'not_kept', 'refused', 'gone', 'busy'] satisfies Attention[]).filter(
      (attention) => cardWords('lost', attention).session_only,
    );
    expect(offering).toEqual(['not_kept']);
  });
});

describe('the page comes back', () => {
  it('what is still granted then is kept', () => {
    for (const step of ['view', 'finish', 'check'] as const) {
      expect(afterVisit(note(step), 'kept')).toEqual({ notice: 'kept', attention: null });
    }
  });

  it('from the first grant: the second step', () => {
    expect(afterVisit(note('finish'), 'lost')).toEqual({ notice: null, attention: 'finish' });
  });

  it('a dropped folder: Chrome is asked only now, and once more after that', () => {
    expect(afterVisit(note('view'), 'lost')).toEqual({ notice: null, attention: 'view' });
    expect(cardWords('lost', 'view')).toMatchObject({ help: 'storage_view_help', action: { does: 'view' } });
  });

  it('from the second: it was not allowed on every visit', () => {
    expect(afterVisit(note('check'), 'lost')).toEqual({ notice: null, attention: 'not_kept' });
  });

  it('nothing is claimed of what is not proven, nor of a visit from the popup', () => {
    expect(afterVisit(note('check'), 'this_session')).toEqual({ notice: null, attention: null });
    expect(afterVisit(note('repair'), 'kept')).toEqual({ notice: null, attention: null });
  });
});

describe('the note in the address', () => {
  it('property: it is read as it was written', () => {
    const step = fc.constantFrom('view' as const, 'finish' as const, 'check' as const, 'repair' as const);
    fc.assert(
      fc.property(step, fc.string({ unit: 'grapheme', minLength: 1 }), (written, storage_id) => {
        const fragment = writeVisitNote({ step: written, storage_id });
        expect(readVisitNote(new URL(`https://x.test/${fragment}`).hash)).toEqual({
          step: written,
          storage_id,
        });
      }),
    );
  });

  it.each(['', '#', '#finish', '#finish=', '#other=s1', '#=s1', '#finish=%', '#constructor=x'])(
    '%j is none',
    (fragment) => {
      expect(readVisitNote(fragment)).toBeNull();
    },
  );
});
