/** One choice between allow, ask and deny, or what the organisation chose. */
import type { JSX } from 'preact';
import type { PermissionState } from '../../platform/messages';
import type { ToolPermission } from '../../settings/managed-policy';
import type { Texts } from '../i18n';
import { LockIcon } from '../lock-icon';

const PERMISSIONS: readonly ToolPermission[] = ['allow', 'ask', 'deny'];
const NONE = '';

interface Props {
  /** Of the tool or class. */
  name: string;
  state: PermissionState;
  /** Null: nothing of its own. */
  chosen: ToolPermission | null;
  /** The words for having nothing of its own; null where that is no choice. */
  inherited: string | null;
  texts: Texts;
  onChange(permission: ToolPermission | null): void;
}

export function PermissionChoice({ name, state, chosen, inherited, texts, onChange }: Props): JSX.Element {
  const { t } = texts;
  if (state.managed) {
    return (
      <p class="fixed" data-permission={state.permission}>
        <strong>{t(`permission_${state.permission}`)}</strong>
        <span class="managed">
          <LockIcon />
          {t('permission_managed')}
        </span>
      </p>
    );
  }
  return (
    <select
      aria-label={t('permission_of', [name])}
      data-permission={state.permission}
      value={chosen ?? NONE}
      onChange={({ currentTarget }) => {
        const { value } = currentTarget;
        onChange(PERMISSIONS.find((permission) => permission === value) ?? null);
      }}
    >
      {inherited !== null && <option value={NONE}>{inherited}</option>}
      {PERMISSIONS.map((permission) => (
        <option key={permission} value={permission}>
          {t(`permission_${permission}`)}
        </option>
      ))}
    </select>
  );
}
