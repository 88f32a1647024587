/**
 * Reads what an administrator set in the browser's managed storage (policy.md). Pure. A value of the wrong
 * type is ignored for its key, with the reason; so is a key we do not know.
 *
 * `public/managed-schema.json` says the same to Chrome, and a test holds the two together. Chrome withholds
 * silently what breaks that schema, the whole key for one wrong entry; so the schema says no more than the
 * types that it must, and what is finer is judged and told here.
 */
import { isJsonObject } from '../protocol/json';
import { checkEndpoint, type EnrollmentProblem, isSendableToken } from './enrollment-rules';
import { readMatchPattern } from './match-patterns';

export type ToolPermission = 'allow' | 'ask' | 'deny';

export interface ManagedStorage {
  storage_id: string;
  name: string;
  backing: 'browser';
}

export type LogLevel = 'error' | 'warn' | 'info' | 'debug';

/** policy.md, with its defaults. */
export interface ManagedPolicy {
  endpoint: string | null;
  enrollment_token: string | null;
  allow_user_enrollment: boolean;
  /** By tool class or tool name. A Map, because the names come from outside. */
  tool_permissions: ReadonlyMap<string, ToolPermission>;
  /**
   * Null: every address is allowed. An empty list is what remains of a list in which nothing was right: it
   * allows nothing, because an administrator's mistake must not open what was meant to be closed.
   */
  url_allowlist: readonly string[] | null;
  url_blocklist: readonly string[];
  storages: readonly ManagedStorage[];
  allow_local_folders: boolean;
  allow_pause: boolean;
  log_level: LogLevel;
}

/** Why a part of the policy is ignored; each but the endpoint's own is a message key of `_locales`. */
export type PolicyReason =
  | 'policy_reason_not_text'
  | 'policy_reason_not_yes_or_no'
  | 'policy_reason_not_a_list'
  | 'policy_reason_not_an_object'
  | 'policy_reason_not_a_permission'
  | 'policy_reason_not_a_pattern'
  | 'policy_reason_not_a_storage'
  | 'policy_reason_not_a_log_level'
  | 'policy_reason_too_long'
  | 'policy_reason_unknown_key'
  | 'policy_reason_unknown_tool'
  | `enrollment_problem_${EnrollmentProblem}`;

export interface PolicyProblem {
  /** The managed key, or a part of it: `storages[1]`, `tool_permissions.page_click`. Cut to 80 characters. */
  key: string;
  /** A message key of `_locales`. */
  reason: PolicyReason;
}

export interface PolicyReading {
  policy: ManagedPolicy;
  problems: PolicyProblem[];
  /** True when an administrator set anything at all. */
  managed: boolean;
}

export const NO_POLICY: ManagedPolicy = {
  endpoint: null,
  enrollment_token: null,
  allow_user_enrollment: true,
  tool_permissions: new Map(),
  url_allowlist: null,
  url_blocklist: [],
  storages: [],
  allow_local_folders: true,
  allow_pause: true,
  log_level: 'info',
};

/** Characters of the endpoint and of the token: servers refuse longer addresses and headers. */
export const LONGEST_TEXT = 4_096;
/** Whoever has mended these sees the next; a list without end would stop the popup. */
export const MOST_PROBLEMS = 50;

export const POLICY_KEYS = Object.keys(NO_POLICY) as readonly (keyof ManagedPolicy)[];

type Complain = (part: string, reason: PolicyReason) => void;

/** What to make of each key's value; undefined leaves the default. */
const READERS: {
  [Key in keyof ManagedPolicy]: (value: unknown, complain: Complain) => ManagedPolicy[Key] | undefined;
} = {
  endpoint: readEndpoint,
  enrollment_token: readToken,
  allow_user_enrollment: readBoolean,
  tool_permissions: readToolPermissions,
  url_allowlist: readAllowlist,
  url_blocklist: readPatterns,
  storages: readStorages,
  allow_local_folders: readBoolean,
  allow_pause: readBoolean,
  log_level: readLogLevel,
};

/** The policy in `raw`, which is what `storage.managed` gave; anything but an object is no policy. */
export function readManagedPolicy(raw: unknown): PolicyReading {
  if (!isJsonObject(raw)) return { policy: NO_POLICY, problems: [], managed: false };
  const problems: PolicyProblem[] = [];
  const read: Partial<Record<keyof ManagedPolicy, unknown>> = {};
  for (const [key, value] of Object.entries(raw)) {
    if (!isPolicyKey(key)) {
      problems.push({ key: shown(key), reason: 'policy_reason_unknown_key' });
      continue;
    }
    const result = READERS[key](value, (part, reason) => problems.push({ key: shown(key + part), reason }));
    if (result !== undefined) read[key] = result;
  }
  const policy = { ...NO_POLICY, ...(read as Partial<ManagedPolicy>) };
  return {
    policy: withTokenOfEndpoint(policy),
    problems: problems.slice(0, MOST_PROBLEMS),
    managed: Object.keys(raw).length > 0,
  };
}

function isPolicyKey(key: string): key is keyof ManagedPolicy {
  return Object.hasOwn(NO_POLICY, key);
}

function shown(key: string): string {
  return key.length > 80 ? `${key.slice(0, 79)}…` : key;
}

/** An endpoint may bring the token in its query string, as a pasted one may (wire.md §1). */
function withTokenOfEndpoint(policy: ManagedPolicy): ManagedPolicy {
  const checked = policy.endpoint === null ? null : checkEndpoint(policy.endpoint);
  if (!checked?.ok) return policy;
  const token =
    checked.query_token !== null && isSendableToken(checked.query_token) ? checked.query_token : null;
  return { ...policy, endpoint: checked.endpoint, enrollment_token: policy.enrollment_token ?? token };
}

function readEndpoint(value: unknown, complain: Complain): string | undefined {
  const text = readShortText(value, complain);
  if (text === undefined) return undefined;
  const checked = checkEndpoint(text);
  if (checked.ok) return text;
  complain('', `enrollment_problem_${checked.problem}`);
  return undefined;
}

function readToken(value: unknown, complain: Complain): string | undefined {
  const text = readShortText(value, complain);
  if (text === undefined || isSendableToken(text)) return text;
  complain('', 'enrollment_problem_token_not_sendable');
  return undefined;
}

function readShortText(value: unknown, complain: Complain): string | undefined {
  const text = readText(value, complain);
  if (text === undefined || text.length <= LONGEST_TEXT) return text;
  complain('', 'policy_reason_too_long');
  return undefined;
}

/** Trimmed. An empty text is what policy editors write for "not set". */
function readText(value: unknown, complain: Complain): string | undefined {
  if (typeof value === 'string') return value.trim() || undefined;
  complain('', 'policy_reason_not_text');
  return undefined;
}

function readBoolean(value: unknown, complain: Complain): boolean | undefined {
  if (typeof value === 'boolean') return value;
  complain('', 'policy_reason_not_yes_or_no');
  return undefined;
}

/** One wrong entry must not undo the others: a `deny` beside it still stands. */
function readToolPermissions(value: unknown, complain: Complain): Map<string, ToolPermission> | undefined {
  if (!isJsonObject(value)) {
    complain('', 'policy_reason_not_an_object');
    return undefined;
  }
  const permissions = new Map<string, ToolPermission>();
  for (const [name, permission] of Object.entries(value)) {
    if (isToolPermission(permission)) {
      permissions.set(name, permission);
    } else {
      complain(`.${name}`, 'policy_reason_not_a_permission');
    }
  }
  return permissions;
}

export function isToolPermission(value: unknown): value is ToolPermission {
  return value === 'allow' || value === 'ask' || value === 'deny';
}

function readPatterns(value: unknown, complain: Complain): string[] | undefined {
  return readList(value, complain, (entry, complainEntry) => {
    const text = readText(entry, complainEntry);
    if (text === undefined || readMatchPattern(text)) return text;
    complainEntry('', 'policy_reason_not_a_pattern');
    return undefined;
  });
}

function readAllowlist(value: unknown, complain: Complain): string[] | undefined {
  return Array.isArray(value) && value.length === 0 ? undefined : readPatterns(value, complain);
}

function readStorages(value: unknown, complain: Complain): ManagedStorage[] | undefined {
  const ids = new Set<string>();
  return readList(value, complain, (entry, complainEntry) => {
    const { storage_id, name, backing } = isJsonObject(entry) ? entry : {};
    const isRight = isFilled(storage_id) && isFilled(name) && backing === 'browser' && !ids.has(storage_id);
    if (!isRight) {
      complainEntry('', 'policy_reason_not_a_storage');
      return undefined;
    }
    ids.add(storage_id);
    return { storage_id, name, backing };
  });
}

function isFilled(value: unknown): value is string {
  return typeof value === 'string' && value.trim() !== '';
}

function readLogLevel(value: unknown, complain: Complain): LogLevel | undefined {
  if (value === 'error' || value === 'warn' || value === 'info' || value === 'debug') return value;
  complain('', 'policy_reason_not_a_log_level');
  return undefined;
}

function readList<Entry>(
  value: unknown,
  complain: Complain,
  readEntry: (entry: unknown, complain: Complain) => Entry | undefined,
): Entry[] | undefined {
  if (!Array.isArray(value)) {
    complain('', 'policy_reason_not_a_list');
    return undefined;
  }
  return value.flatMap((entry, index) => {
    const read = readEntry(entry, (part, reason) => complain(`[${index}]${part}`, reason));
    return read === undefined ? [] : [read];
  });
}
