/** The permission of a Storage in words, and what a person can do about it. Pure. */
import type { StorageOverview } from '../../platform/messages';
import type { StoragePermission } from '../../storage/attachments';
import type { MessageKey } from '../i18n';
import type { VisitNote } from './visit-note';

const PERMISSION_WORDS: Readonly<Record<StoragePermission, MessageKey>> = {
  kept: 'storage_permission_kept',
  this_session: 'storage_permission_this_session',
  lost: 'storage_permission_lost',
};

/** What Chrome lets the platform do; null for what needs no permission. */
export function permissionInWords({
  backing,
  permission,
}: Pick<StorageOverview, 'backing' | 'permission'>): MessageKey | null {
  return backing === 'browser' && permission === 'kept' ? null : PERMISSION_WORDS[permission];
}

/** What happened to one Storage on this page, beside what its permission says. */
export type Attention = 'view' | 'finish' | 'not_kept' | 'refused' | 'gone' | 'busy';

export interface CardWords {
  heading: MessageKey | null;
  help: MessageKey | null;
  /** The one button that repairs it. */
  action: { label: MessageKey; does: 'ask' | 'view' | 'keep' | 'choose' } | null;
  /** For those who do not want to be asked for every visit. */
  session_only: boolean;
}

const NOTHING: CardWords = { heading: null, help: null, action: null, session_only: false };

export function cardWords(permission: StoragePermission, attention: Attention | null): CardWords {
  if (attention === 'gone') {
    return {
      ...NOTHING,
      help: 'storage_gone_help',
      action: { label: 'storage_choose_again', does: 'choose' },
    };
  }
  if (permission === 'kept') return NOTHING;
  if (permission === 'this_session') {
    return {
      ...NOTHING,
      help: attention === 'busy' ? 'storage_busy_help' : 'storage_this_session_help',
      action: { label: 'storage_keep', does: 'keep' },
    };
  }
  const ask = { label: 'storage_repair', does: 'ask' } as const;
  switch (attention) {
    case 'view':
      return {
        heading: 'storage_view_heading',
        help: 'storage_view_help',
        action: { label: 'storage_finish_action', does: 'view' },
        session_only: false,
      };
    case 'finish':
      return {
        heading: 'storage_finish_heading',
        help: 'storage_finish_help',
        action: { label: 'storage_finish_action', does: 'ask' },
        session_only: false,
      };
    case 'not_kept':
      return { ...NOTHING, help: 'storage_not_kept_help', action: ask, session_only: true };
    case 'refused':
      return { ...NOTHING, help: 'storage_refused_help', action: ask };
    case 'busy':
      return { ...NOTHING, help: 'storage_busy_help', action: ask };
    default:
      return { ...NOTHING, help: 'storage_lost_help', action: ask };
  }
}

/** What to say of the Storage the page came back for. */
export function afterVisit(
  { step }: VisitNote,
  permission: StoragePermission,
): { notice: 'kept' | null; attention: Attention | null } {
  if (step === 'repair') return { notice: null, attention: null };
  if (permission === 'kept') return { notice: 'kept', attention: null };
  if (permission === 'this_session') return { notice: null, attention: null };
  return { notice: null, attention: step === 'check' ? 'not_kept' : step };
}
