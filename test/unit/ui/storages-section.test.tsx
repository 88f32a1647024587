import { describe, expect, it } from 'vitest';
import type { StorageOverview } from '../../../src/platform/messages';
import { StorageRows } from '../../../src/ui/popup/storages-section';
import { StorageFactsList } from '../../../src/ui/storages/storage-facts';
import { texts } from './texts';
import { shownBy, textOf } from './vnode-text';

const en = texts('en', 'en-US');
const now = new Date(2026, 4, 3, 14, 7).getTime();
const storage: StorageOverview = {
  storage_id: 's/1',
  name: 'Work',
  backing: 'folder',
  permission: 'kept',
  managed: false,
  revision: 'r7',
  saved_at: now,
  sealed: [],
  links: [],
  gone: false,
  recovery_folders: [],
};

describe('ui.md, Popup 3: Storages', () => {
  const rows = (storages: StorageOverview[]) =>
    shownBy(<StorageRows storages={storages} now={now} texts={en} />).filter(({ type }) => type === 'li');

  it('a row each: name, permission, last save', () => {
    const other = {
      ...storage,
      storage_id: 's2',
      name: 'Notes',
      permission: 'this_session',
      saved_at: null,
    } as const;
    expect(rows([storage, other]).map(({ text }) => text.replace(/\s/g, ' '))).toEqual([
      'WorkAccess kept2:07 PM',
      'NotesThis session onlyNot saved yet',
    ]);
  });

  it('a lost one has Repair, which opens its place on the Storages page', () => {
    const lost = { ...storage, permission: 'lost' } as const;
    expect(rows([lost]).map(({ text }) => text)).toEqual(['WorkAccess lostRepair']);
    const links = shownBy(<StorageRows storages={[lost]} now={now} texts={en} />).filter(
      ({ type }) => type === 'a',
    );
    expect(links.map(({ props }) => props.href)).toEqual([
      '../storages/storages.html',
      '../storages/storages.html#repair=s%2F1',
    ]);
    expect(links[1]?.props['aria-label']).toBe('Repair Work');
  });

  it('says so when there is none', () => {
    expect(textOf(<StorageRows storages={[]} now={now} texts={en} />)).toContain('No Storage is attached');
  });
});

describe('what the Storages page tells of one', () => {
  const facts = (more: Partial<StorageOverview>) => {
    const shown = shownBy(<StorageFactsList storage={{ ...storage, ...more }} texts={en} />);
    const texts = (type: string) => shown.filter((part) => part.type === type).map(({ text }) => text);
    const values = texts('dd');
    return Object.fromEntries(texts('dt').map((label, index) => [label, values[index]?.replace(/\s/g, ' ')]));
  };

  it('revision, last save, sealed paths, links, recovered files', () => {
    expect(
      facts({
        sealed: [
          { path: '', until: null },
          { path: 'a.txt', until: now },
        ],
        links: [{ link_id: 'l1', path: 'shared', broken: true }],
        recovery_folders: ['.endue-storage-recovery-1-l1'],
      }),
    ).toEqual({
      'Storage id': 's/1',
      Revision: 'r7',
      'Last save': 'May 3, 2026, 2:07:00 PM',
      Sealed: 'The whole Storagea.txtuntil May 3, 2026, 2:07:00 PM',
      Links: 'sharedtarget gone',
      'Recovered files':
        '.endue-storage-recovery-1-l1Files that were moved aside instead of being overwritten. Look through them, then delete the folder.',
    });
  });

  it('of one that is new, only what there is', () => {
    expect(facts({ revision: null, saved_at: null })).toEqual({
      'Storage id': 's/1',
      'Last save': 'Not saved yet',
    });
  });

  it('revision 0 is one', () => {
    expect(facts({ revision: 0 })).toMatchObject({ Revision: '0' });
  });
});
