/**
 * The form in which this browser's own settings lie in `storage.local`. Pure. What is not right (a hand in
 * the developer tools, half a profile) counts as absent.
 */
import { isJsonObject } from '../protocol/json';
import type { StoredSettings } from './effective-settings';
import { checkEnrollment } from './enrollment-rules';
import { isToolPermission } from './managed-policy';

export const NOTHING_STORED: StoredSettings = {
  enrollment: null,
  paused: false,
  stopped_token_digest: null,
  tool_permissions: [],
};

export const STORED_KEYS = Object.keys(NOTHING_STORED) as readonly (keyof StoredSettings)[];

export function readStoredSettings(raw: unknown): StoredSettings {
  if (!isJsonObject(raw)) return NOTHING_STORED;
  const { enrollment, paused, stopped_token_digest, tool_permissions } = raw;
  return {
    enrollment: readEnrollment(enrollment),
    paused: paused === true,
    stopped_token_digest: typeof stopped_token_digest === 'string' ? stopped_token_digest : null,
    tool_permissions: readToolPermissions(tool_permissions),
  };
}

function readToolPermissions(raw: unknown): StoredSettings['tool_permissions'] {
  if (!Array.isArray(raw)) return [];
  return raw.flatMap((entry: unknown) => {
    const [name, permission]: unknown[] = Array.isArray(entry) ? entry : [];
    return typeof name === 'string' && isToolPermission(permission) ? [[name, permission] as const] : [];
  });
}

function readEnrollment(raw: unknown): StoredSettings['enrollment'] {
  if (!isJsonObject(raw) || typeof raw.endpoint !== 'string' || typeof raw.token !== 'string') return null;
  const checked = checkEnrollment(raw.endpoint, raw.token);
  return checked.ok ? checked.enrollment : null;
}
