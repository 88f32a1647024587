import Ajv from 'ajv';
import { describe, expect, it } from 'vitest';
import messages from '../../../public/_locales/en/messages.json';
import schema from '../../../public/managed-schema.json';
import {
  type ManagedPolicy,
  MOST_PROBLEMS,
  NO_POLICY,
  POLICY_KEYS,
  readManagedPolicy,
} from '../../../src/settings/managed-policy';

/** For each key: a value that is right, what is read from it, and a value of the wrong type. */
const SAMPLES: {
  [Key in keyof ManagedPolicy]: { right: unknown; read: ManagedPolicy[Key]; wrong: unknown };
} = {
  endpoint: { right: 'wss://r.test/d', read: 'wss://r.test/d', wrong: 5 },
  enrollment_token: { right: 'abc123', read: 'abc123', wrong: ['abc123'] },
  allow_user_enrollment: { right: false, read: false, wrong: 'false' },
  tool_permissions: {
    right: { powerful: 'deny', page_click: 'ask', observe: 'allow' },
    read: new Map([
      ['powerful', 'deny'],
      ['page_click', 'ask'],
      ['observe', 'allow'],
    ]),
    wrong: 'deny',
  },
  url_allowlist: { right: ['https://*.r.test/*'], read: ['https://*.r.test/*'], wrong: 'https://*.r.test/*' },
  url_blocklist: { right: ['https://*.r.test/*'], read: ['https://*.r.test/*'], wrong: {} },
  storages: {
    right: [{ storage_id: 's1', name: 'Work', backing: 'browser' }],
    read: [{ storage_id: 's1', name: 'Work', backing: 'browser' }],
    wrong: { storage_id: 's1' },
  },
  allow_local_folders: { right: false, read: false, wrong: 0 },
  allow_pause: { right: false, read: false, wrong: null },
  log_level: { right: 'debug', read: 'debug', wrong: 3 },
};

describe('policy.md: the managed keys', () => {
  it.each(POLICY_KEYS)('%s is read, and a wrong type is ignored for that key alone', (key) => {
    const other = key === 'allow_pause' ? { allow_local_folders: false } : { allow_pause: false };
    const right = readManagedPolicy({ [key]: SAMPLES[key].right, ...other });
    expect(right).toEqual({
      policy: { ...NO_POLICY, [key]: SAMPLES[key].read, ...other },
      problems: [],
      managed: true,
    });
    const wrong = readManagedPolicy({ [key]: SAMPLES[key].wrong, ...other });
    expect(wrong.policy).toEqual({ ...NO_POLICY, ...other });
    expect(wrong.problems).toEqual([{ key, reason: expect.stringMatching(/^policy_reason_not_/) }]);
  });

  it.each(POLICY_KEYS)('the schema file says the same of %s', (key) => {
    const property = schema.properties[key];
    const validate = new Ajv({ strict: false }).compile(property);
    expect(validate(SAMPLES[key].right)).toBe(true);
    expect(validate(SAMPLES[key].wrong)).toBe(false);
    expect(property.title.length).toBeGreaterThan(0);
    expect(property.description.length).toBeGreaterThan(0);
  });

  it('the schema file has these keys and no others, in the dialect that Chrome reads', () => {
    expect(Object.keys(schema.properties)).toEqual(POLICY_KEYS);
    const dialect = ['type', 'properties', 'additionalProperties', 'items', 'title', 'description'];
    const check = (node: object): void => {
      for (const [name, value] of Object.entries(node)) {
        expect(dialect).toContain(name);
        if (name === 'type') expect(typeof value).toBe('string');
        if (name === 'properties') Object.values(value as object).forEach(check);
        if (name === 'items' || name === 'additionalProperties') check(value as object);
      }
    };
    check(schema);
  });

  it('no policy, and whatever is not an object, is no policy', () => {
    for (const raw of [{}, null, undefined, [], 'x', 5]) {
      expect(readManagedPolicy(raw)).toEqual({ policy: NO_POLICY, problems: [], managed: false });
    }
  });

  it('an unknown key is named; a name of Object.prototype is unknown too', () => {
    const raw = JSON.parse('{"endpiont":"wss://r.test","__proto__":{},"constructor":1,"allow_pause":false}');
    expect(readManagedPolicy(raw)).toEqual({
      policy: { ...NO_POLICY, allow_pause: false },
      problems: ['endpiont', '__proto__', 'constructor'].map((key) => ({
        key,
        reason: 'policy_reason_unknown_key',
      })),
      managed: true,
    });
  });

  it.each([
    ['ws://r.test/d', 'enrollment_problem_endpoint_not_secure'],
    ['https://r.test/d', 'enrollment_problem_endpoint_wrong_scheme'],
    ['wss://u@r.test/d', 'enrollment_problem_endpoint_user_info'],
    ['wss://r.test/d#x', 'enrollment_problem_endpoint_fragment'],
  ])('the endpoint must be as a pasted one: %s', (endpoint, reason) => {
    const { policy, problems } = readManagedPolicy({ endpoint, enrollment_token: 'abc123' });
    expect(policy.endpoint).toBeNull();
    expect(problems).toEqual([{ key: 'endpoint', reason }]);
  });

  it('a token that cannot be sent is ignored, and stands in no problem', () => {
    const reading = readManagedPolicy({ endpoint: 'wss://r.test/d', enrollment_token: 'SECRET9/==' });
    expect(reading.policy.enrollment_token).toBeNull();
    expect(reading.problems).toEqual([
      { key: 'enrollment_token', reason: 'enrollment_problem_token_not_sendable' },
    ]);
    expect(JSON.stringify(reading)).not.toContain('SECRET9');
  });

  it('white space around endpoint and token is forgiven, an empty text means not set', () => {
    const spaced = readManagedPolicy({ endpoint: ' wss://r.test/d\n', enrollment_token: '\tabc123 ' });
    expect(spaced.policy).toMatchObject({ endpoint: 'wss://r.test/d', enrollment_token: 'abc123' });
    expect(readManagedPolicy({ endpoint: '', enrollment_token: ' ' })).toEqual({
      policy: NO_POLICY,
      problems: [],
      managed: true,
    });
  });

  it('a token in the query string is taken out, and used when there is no other', () => {
    const endpoint = 'wss://r.test/d?a=1&token=q';
    expect(readManagedPolicy({ endpoint }).policy).toMatchObject({
      endpoint: 'wss://r.test/d?a=1',
      enrollment_token: 'q',
    });
    expect(readManagedPolicy({ endpoint, enrollment_token: 'abc123' }).policy.enrollment_token).toBe(
      'abc123',
    );
  });

  it('one wrong entry undoes no other: what is denied or blocked stays so', () => {
    const { policy, problems } = readManagedPolicy({
      tool_permissions: { powerful: 'deny', observe: 'never' },
      url_blocklist: ['https://bank.test/*', 5],
      storages: [{ storage_id: 's1', name: 'Work', backing: 'browser' }, { storage_id: 's2' }, null],
    });
    expect(policy.tool_permissions).toEqual(new Map([['powerful', 'deny']]));
    expect(policy.url_blocklist).toEqual(['https://bank.test/*']);
    expect(policy.storages).toHaveLength(1);
    expect(problems.map(({ key }) => key)).toEqual([
      'tool_permissions.observe',
      'url_blocklist[1]',
      'storages[1]',
      'storages[2]',
    ]);
  });

  it('an allowlist in which nothing is right allows nothing; an empty one allows all', () => {
    expect(readManagedPolicy({ url_allowlist: [1, ''] }).policy.url_allowlist).toEqual([]);
    expect(readManagedPolicy({ url_allowlist: [] }).policy.url_allowlist).toBeNull();
  });
});

describe('policy.md: wrong policies', () => {
  const SECRET = 'SECRET9';
  const good = { allow_pause: false, tool_permissions: { powerful: 'deny' } };
  const held = { ...NO_POLICY, allow_pause: false, tool_permissions: new Map([['powerful', 'deny']]) };
  const english = messages as Record<string, { message: string }>;
  const many = (entry: (index: number) => unknown): unknown[] =>
    Array.from({ length: 10_000 }, (_, n) => entry(n));

  /** What stands beside a good policy; the keys that are named; what else holds. */
  const WRONG: [
    name: string,
    values: Record<string, unknown>,
    keys: string[],
    also?: Partial<ManagedPolicy>,
  ][] = [
    [
      'of the wrong type, each',
      {
        endpoint: { url: SECRET },
        enrollment_token: 5,
        allow_local_folders: 'no',
        storages: 's1',
        log_level: 1,
      },
      ['endpoint', 'enrollment_token', 'allow_local_folders', 'storages', 'log_level'],
    ],
    [
      'null, as some editors write what is not set',
      Object.fromEntries(POLICY_KEYS.filter((key) => !(key in good)).map((key) => [key, null])),
      POLICY_KEYS.filter((key) => !(key in good)),
    ],
    ['an endpoint of a web page', { endpoint: `https://r.test/${SECRET}` }, ['endpoint']],
    ['an endpoint that runs script', { endpoint: `javascript:"${SECRET}"` }, ['endpoint']],
    ['an endpoint without encryption', { endpoint: `ws://r.test/${SECRET}` }, ['endpoint']],
    ['an endpoint with a password', { endpoint: `wss://me:${SECRET}@r.test/` }, ['endpoint']],
    ['a token that breaks a header', { enrollment_token: `${SECRET}\r\nx: y` }, ['enrollment_token']],
    ['unknown keys', { token: SECRET, Endpoint: 'wss://r.test', '': 1 }, ['token', 'Endpoint', '']],
    [
      'empty texts and lists: nothing is set',
      { endpoint: '', enrollment_token: '  ', url_allowlist: [], storages: [] },
      [],
    ],
    [
      'patterns of other schemes',
      { url_blocklist: ['chrome://*/*', 'javascript:*', '*', '', 'https://bank.test/*'] },
      ['url_blocklist[0]', 'url_blocklist[1]', 'url_blocklist[2]'],
      { url_blocklist: ['https://bank.test/*'] },
    ],
    [
      'a Storage twice, one elsewhere, one without a name',
      {
        storages: [
          { storage_id: 's1', name: 'Work', backing: 'browser' },
          { storage_id: 's1', name: 'Again', backing: 'browser' },
          { storage_id: 's2', name: 'Folder', backing: '/home' },
          { storage_id: 's3', backing: 'browser' },
        ],
      },
      ['storages[1]', 'storages[2]', 'storages[3]'],
      { storages: [{ storage_id: 's1', name: 'Work', backing: 'browser' }] },
    ],
    ['a huge endpoint', { endpoint: `wss://r.test/${'a'.repeat(1_000_000)}` }, ['endpoint']],
    ['a huge token', { enrollment_token: 'a'.repeat(1_000_000) }, ['enrollment_token']],
    ['a huge name', { ['k'.repeat(1_000_000)]: 1 }, [`${'k'.repeat(79)}…`]],
    [
      'a huge list, all wrong',
      { url_allowlist: many(() => 5) },
      Array.from({ length: MOST_PROBLEMS }, (_, n) => `url_allowlist[${n}]`),
      { url_allowlist: [] },
    ],
    [
      'a huge list, all right',
      { url_blocklist: many((n) => `https://h${n}.test/*`) },
      [],
      { url_blocklist: many((n) => `https://h${n}.test/*`) as string[] },
    ],
  ];

  it.each(WRONG)(
    '%s: ignored for that key alone, with a reason in words',
    (_name, values, keys, also = {}) => {
      const { policy, problems, managed } = readManagedPolicy({ ...values, ...good });
      expect(policy).toEqual({ ...held, ...also });
      expect(managed).toBe(true);
      expect(problems.map(({ key }) => key)).toEqual(keys);
      for (const { reason } of problems) expect(english[reason]?.message, reason).toMatch(/\w/);
      expect(JSON.stringify(problems)).not.toContain(SECRET);
    },
  );
});
