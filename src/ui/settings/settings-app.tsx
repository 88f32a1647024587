/** The settings page: what the platform may do, per class of tools and per tool (tools.md, Permission classes). */
import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import type { PermissionSettings } from '../../platform/messages';
import type { ToolPermission } from '../../settings/managed-policy';
import type { Texts } from '../i18n';
import { LockIcon } from '../lock-icon';
import { PageNav } from '../page-nav';
import { PermissionClass } from './permission-class';
import { UrlLists } from './url-lists';

interface Props {
  texts: Texts;
  /** These reject when nobody answers. */
  getPermissions(): Promise<PermissionSettings>;
  setPermission(name: string, permission: ToolPermission | null): Promise<PermissionSettings>;
  /** Calls back when policy or settings may have changed. Returns the way to stop. */
  onSettings(changed: () => void): () => void;
}

/** A changed policy settles a little later than it is told of. */
const REFRESH_EVERY_MS = 3_000;

export function SettingsApp({ texts, getPermissions, setPermission, onSettings }: Props): JSX.Element {
  const { t } = texts;
  const [permissions, setPermissions] = useState<PermissionSettings | null>(null);
  const [note, setNote] = useState<'settings_unavailable' | 'settings_not_saved' | 'settings_saved' | null>(
    null,
  );
  /** What was asked for before a change tells what held before it. */
  const changes = useRef(0);

  useEffect(() => {
    const refresh = async (): Promise<void> => {
      if (document.hidden) return;
      const before = changes.current;
      try {
        const current = await getPermissions();
        if (before === changes.current) setPermissions(current);
        setNote((shown) => (shown === 'settings_unavailable' ? null : shown));
      } catch {
        setNote('settings_unavailable');
      }
    };
    void refresh();
    const timer = setInterval(refresh, REFRESH_EVERY_MS);
    const stop = onSettings(refresh);
    document.addEventListener('visibilitychange', refresh);
    return () => {
      stop();
      clearInterval(timer);
      document.removeEventListener('visibilitychange', refresh);
    };
  }, [getPermissions, onSettings]);

  async function change(name: string, permission: ToolPermission | null): Promise<void> {
    changes.current += 1;
    const turn = changes.current;
    setNote(null);
    try {
      const current = await setPermission(name, permission);
      if (turn === changes.current) setPermissions(current);
      setNote('settings_saved');
    } catch {
      setNote('settings_not_saved');
      // The choice shown is not the one that holds: show that one again.
      setPermissions((shown) => shown && { ...shown });
    }
  }

  const failed = note !== null && note !== 'settings_saved';
  return (
    <>
      <PageNav here="settings" texts={texts} />
      <main>
        <h1>{t('settings_heading')}</h1>
        <p class={failed ? 'failed' : 'visually-hidden'} role={failed ? 'alert' : 'status'}>
          {note === null ? '' : t(note)}
        </p>
        {permissions !== null && (
          <>
            <section aria-labelledby="permissions-heading">
              <h2 id="permissions-heading">{t('permissions_heading')}</h2>
              <p class="hint">{t('permissions_note')}</p>
              {permissions.managed && (
                <p class="managed">
                  <LockIcon />
                  {t('managed')}
                </p>
              )}
              {permissions.classes.map((group) => (
                <PermissionClass key={group.class} group={group} texts={texts} onChange={change} />
              ))}
            </section>
            <UrlLists permissions={permissions} texts={texts} />
          </>
        )}
      </main>
    </>
  );
}
