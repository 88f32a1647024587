/** What Chrome is told of the extension's button: picture, badge and tooltip of one state, together. */
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { BUTTON_ICON_SIZES, BUTTON_ICONS, buttonIconFile } from '../../../src/platform/button-icons';

const calls: [string, unknown][] = [];
const noted =
  (name: string) =>
  async (details: unknown): Promise<void> => {
    calls.push([name, details]);
  };

vi.mock('../../../src/platform/browser', () => ({
  browser: {
    action: {
      setIcon: noted('setIcon'),
      setBadgeText: noted('setBadgeText'),
      setBadgeBackgroundColor: noted('setBadgeBackgroundColor'),
      setTitle: noted('setTitle'),
    },
  },
}));

const { showOnButton } = await import('../../../src/platform/badge');

beforeEach(() => {
  calls.length = 0;
});

describe('ui.md, Badge: what Chrome is told', () => {
  it.each(BUTTON_ICONS)(
    '%s: the picture in each size, by paths from the root, badge and tooltip',
    async (icon) => {
      await showOnButton({ icon, text: '!', urgent: true, tooltip: 'A sentence' });
      const path = Object.fromEntries(
        BUTTON_ICON_SIZES.map((size) => [size, `/${buttonIconFile(icon, size)}`]),
      );
      expect(Object.fromEntries(calls)).toEqual({
        setIcon: { path },
        setBadgeText: { text: '!' },
        setBadgeBackgroundColor: { color: '#b3261e' },
        setTitle: { title: 'A sentence' },
      });
      expect(calls).toHaveLength(4);
    },
  );
});
