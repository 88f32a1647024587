import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  describeEnrollmentDraft,
  enrollmentHost,
  LONGEST_PASTE,
  parseEnrollment,
} from '../../../src/settings/enrollment';

const ENDPOINT = 'wss://r.test/d';
const TOKEN = 'abc123';
const GOOD = { ok: true, enrollment: { endpoint: ENDPOINT, token: TOKEN } };

const understood: Record<string, string> = {
  'the enrollment object': '{"endpoint":"wss://r.test/d","token":"abc123"}',
  'the object in the other order, over several lines':
    '{\n  "token": "abc123",\n  "endpoint": "wss://r.test/d"\n}\n',
  'case 1: two bare strings with white space': ' wss://r.test/d \nabc123\r\n',
  'case 1: two quoted strings with white space inside': '" wss://r.test/d \n"\n"abc123\r\n"',
  'case 1: two JSON strings with escaped white space': '" wss://r.test/d \\n" "abc123\\r\\n"',
  'case 1: a BOM and a line end around the object':
    '\uFEFF{"endpoint":"wss://r.test/d","token":"abc123"}\r\n',
  'case 1: the object behind a command line':
    '$ curl -s -X POST $OS/api/v1/stations/$STN/devices -H "Authorization: Bearer $TOKEN" -d \'{"type":"actual","kind":"chrome"}\' | jq .data.enrollment\n{\n  "endpoint": "wss://r.test/d",\n  "token": "abc123"\n}',
  'two strings behind a command line of several lines':
    '$ curl -s https://os.test/api/v1/stations/1/devices \\\n  -H "Authorization: Bearer pat_1" \\\n  | jq -r ".data.enrollment | .endpoint, .token"\nwss://r.test/d\nabc123\n',
  'the whole API answer':
    '{"data":{"id":"dev_1","name":"My “cool” {laptop}","enrollment":{"endpoint":"wss://r.test/d","token":"abc123"}},"meta":{"token":"next_page"}}',
  'an API answer whose other parts have an endpoint and a token too':
    '{"api":{"endpoint":"https://os.test/api","token":"pat_1"},"enrollment":{"endpoint":"wss://r.test/d","token":"abc123"}}',
  'an answer with endpoint and token at different depths':
    '{"endpoint":"wss://r.test/d","credentials":{"token":"abc123"}}',
  'a list of one': '[{"endpoint":"wss://r.test/d","token":"abc123"}]',
  'the same enrollment twice':
    '{"endpoint":"wss://r.test/d","token":"abc123"}\n{"token":"abc123","endpoint":"wss://R.test/d"}',
  'a log line': '2026-01-02T03:04:05Z INFO created {"endpoint":"wss://r.test/d","token":"abc123"} in 12 ms',
  'an answer logged as a string':
    'body="{\\"data\\":{\\"endpoint\\":\\"wss://r.test/d\\",\\"token\\":\\"abc123\\"}}"',
  'typographic quotes': '{“endpoint”: “wss://r.test/d”, “token”: “abc123”}',
  'typographic quotes that all point one way': '{”endpoint”:”wss://r.test/d”,”token”:”abc123”}',
  'single quotes': "{'endpoint': 'wss://r.test/d', 'token': 'abc123'}",
  'trailing commas': '{"endpoint":"wss://r.test/d","token":"abc123",},',
  'bare keys and values': '{endpoint: wss://r.test/d, token: abc123}',
  'the lines inside the object only': '  "endpoint": "wss://r.test/d",\n  "token": "abc123"',
  'an object that was cut off': '{"data":{"enrollment":{"endpoint":"wss://r.test/d","token":"abc123"',
  'the keys of the managed policy': '{"endpoint":"wss://r.test/d","enrollment_token":"abc123"}',
  'the token first': 'abc123\nwss://r.test/d',
  'a comma between': 'abc123,wss://r.test/d',
  'a comma between, the endpoint first': 'wss://r.test/d,abc123',
  'a comma and a space': 'wss://r.test/d, abc123,',
  'a JSON list of two strings': '["wss://r.test/d", "abc123"]',
  'typographic quotes around two strings': '‘wss://r.test/d’ „abc123“',
  'back quotes and a list': '- `wss://r.test/d`\n- `abc123`',
  'a fenced block': '```json\n{"endpoint":"wss://r.test/d","token":"abc123"}\n```',
  'a fenced block of two strings': '```text\nwss://r.test/d\nabc123\n```',
  'an angle-bracketed address': '<wss://r.test/d> abc123',
  'zero-width characters': 'wss://r.\u200Btest/d\u2060\n\u200Eabc\u200D123\u200B',
  'spaces that do not break': '\u00A0wss://r.test/d\u3000abc123\u00A0',
  'labels with =': 'endpoint=wss://r.test/d\ntoken=abc123',
  'labels with a colon, in prose':
    'Hello! Your endpoint: wss://r.test/d and your token: abc123 (keep it safe)',
  'environment variables': 'export ENDUE_ENDPOINT="wss://r.test/d"\nexport ENDUE_TOKEN="abc123"',
  'options of a command': 'agent run --token abc123 --endpoint=wss://r.test/d',
  'labels on lines of their own': 'Endpoint\nwss://r.test/d\nToken\nabc123',
  'Korean labels': '엔드포인트: wss://r.test/d\n토큰: abc123\n감사합니다',
  'the token in the query string only': 'wss://r.test/d?token=abc123',
  'the token in the query string of the object': '{"endpoint":"wss://r.test/d?token=abc123"}',
  'a percent-encoded token in the query string': 'wss://r.test/d?token=abc%31%32%33',
  'another token than the one in the query string':
    '{"endpoint":"wss://r.test/d?token=old","token":"abc123"}',
  'an explicit port of the scheme': 'wss://r.test:443/d abc123',
  'a link as Markdown has it': '[wss://r.test/d](wss://r.test/d) `abc123`',
  'a link as chats store it': 'endpoint: <wss://r.test/d|r.test> token: abc123',
  'full-width colons': '엔드포인트：wss://r.test/d\n토큰：abc123',
  'full-width quotes, colons and commas': '｛＂endpoint＂：＂wss://r.test/d＂，＂token＂：＂abc123＂｝',
  'a full-width comma between': 'wss://r.test/d，abc123',
  'corner brackets as quotes': 'endpoint: 「wss://r.test/d」、 token: 『abc123』',
  'Korean running on after the address': '엔드포인트는 wss://r.test/d이고 토큰은 abc123 입니다',
  'an answer with full-width signs in a name':
    '{"name":"「맥북」 ＂１＂","enrollment":{"endpoint":"wss://r.test/d","token":"abc123"}}',
  'a quoted mail': '> endpoint: wss://r.test/d\n> token: abc123',
  'a mail quoted twice': '>> wss://r.test/d\n> > abc123',
  'keys in another case': '{"Endpoint":"wss://r.test/d","TOKEN":"abc123"}',
  'an object logged as one JSON string': '"{\\"endpoint\\":\\"wss://r.test/d\\",\\"token\\":\\"abc123\\"}"',
  'full-width colons and commas': 'endpoint：wss：//r.test/d，token：abc123',
  'full-width marks around bare strings': '「wss://r.test/d」、「abc123」',
  'a full stop of Korean or Japanese behind the address': 'wss://r.test/d。 abc123',
  'a link of Markdown': '[wss://r.test/d](wss://r.test/d)\nabc123',
  'bold names of Markdown': '**Endpoint:** wss://r.test/d\n**Token:** abc123',
  'variables of PowerShell': '$env:ENDUE_ENDPOINT = "wss://r.test/d"\r\n$env:ENDUE_TOKEN="abc123"\r\n',
  'variables of cmd.exe': 'setx ENDPOINT "wss://r.test/d"\r\nsetx TOKEN abc123\r\n',
  'variables of fish': 'set -gx ENDUE_ENDPOINT wss://r.test/d\nset -gx ENDUE_TOKEN abc123',
  'variables of a shell, with its prompt':
    '$ export ENDUE_ENDPOINT=wss://r.test/d\n$ export ENDUE_TOKEN=abc123\n',
  'a shell that sets a token of its own before it asks':
    '$ TOKEN=pat_1\n$ curl -s https://os.test/endpoint | jq -r .endpoint,.token\nwss://r.test/d\nabc123',
  'a quoted mail with an empty line': '> wss://r.test/d\n>\n> abc123\n',
  'variation selectors and fillers': 'wss://r.test/d\uFE0F\u3164 abc123\uFE0F\u061C',
  'an object, and its address once more': 'wss://r.test/d\n{"endpoint":"wss://r.test/d","token":"abc123"}',
};

const refused: [string, string, string][] = [
  ['empty', '', 'nothing'],
  ['empty', ' \n\u200B\uFEFF ', 'only invisible characters'],
  ['too_long', `wss://r.test/d abc123 ${'x'.repeat(100_000)}`, 'a whole book'],
  ['endpoint_missing', '{"token":"SECRET9"}', 'case 1: a token alone'],
  ['endpoint_missing', 'SECRET9', 'one word'],
  ['endpoint_missing', 'r.test/d SECRET9', 'an address without a scheme'],
  ['endpoint_missing', '{"endpoint":"","token":"SECRET9"}', 'an empty endpoint'],
  ['endpoint_missing', '{"endpoint":null,"token":"SECRET9"}', 'an endpoint that is null'],
  ['token_missing', 'wss://r.test/d', 'an endpoint alone'],
  ['token_missing', '{"endpoint":"wss://r.test/d"}', 'an object without a token'],
  ['token_missing', '{"endpoint":"wss://r.test/d","token":" "}', 'a blank token'],
  ['token_missing', 'wss://r.test/d?token=', 'an empty token in the query string'],
  ['token_missing', 'wss://r.test/d\ntoken:', 'a label without a value'],
  ['endpoint_not_a_url', '{"endpoint":"r.test/d","token":"SECRET9"}', 'an endpoint without a scheme'],
  ['endpoint_not_a_url', '{"endpoint":"wss:r.test/d","token":"SECRET9"}', 'no slashes'],
  ['endpoint_not_a_url', '{"endpoint":"wss:///d","token":"SECRET9"}', 'no host'],
  ['endpoint_not_a_url', '{"endpoint":"wss://r.te st/d","token":"SECRET9"}', 'a space inside'],
  ['endpoint_not_a_url', 'wss://r.test:99999/d SECRET9', 'an impossible port'],
  [
    'token_missing',
    '{"data":{"endpoint":"wss://r.test/d","token":"SECRE',
    'cut off in the middle of the token',
  ],
  ['token_missing', '｛“endpoint”：“wss://r.test/d”，“token”：“SECRE', 'cut off, in full-width marks'],
  ['token_missing', '{"endpoint":"wss://r.test/d","tok', 'cut off in the middle of a name'],
  ['endpoint_wrong_scheme', 'https://r.test/d SECRET9', 'a web address'],
  [
    'endpoint_wrong_scheme',
    '{"endpoint":"https://r.test/d","token":"SECRET9"}',
    'a web address in the object',
  ],
  ['endpoint_not_secure', 'ws://r.test/d SECRET9', 'ws to another machine'],
  ['endpoint_not_secure', 'ws://localhost.r.test/d SECRET9', 'a host that only begins like loopback'],
  ['endpoint_not_secure', 'ws://128.0.0.1/d SECRET9', 'just beside loopback'],
  ['endpoint_not_secure', 'ws://[::2]/d SECRET9', 'another IPv6 address'],
  ['endpoint_user_info', 'wss://me:SECRET9@r.test/d SECRET9', 'user-info'],
  ['endpoint_user_info', 'wss://@r.test/d SECRET9', 'empty user-info'],
  ['endpoint_fragment', 'wss://r.test/d#SECRET9 SECRET9', 'a fragment'],
  ['endpoint_fragment', 'wss://r.test/d# SECRET9', 'an empty fragment'],
  ['token_not_sendable', '{"endpoint":"wss://r.test/d","token":"SECRET9/x=="}', 'Base64'],
  ['token_not_sendable', 'wss://r.test/d SECRET9==', 'Base64, bare'],
  ['token_not_sendable', '{"endpoint":"wss://r.test/d","token":"SECRET9 x"}', 'a space inside'],
  ['token_not_sendable', '{"endpoint":"wss://r.test/d","token":"SECRET9\\"x"}', 'a quote inside'],
  ['token_not_sendable', 'wss://r.test/d SECRET9é', 'not ASCII'],
  ['token_not_sendable', 'wss://r.test/d?token=SECRET9%2F', 'in the query string'],
  [
    'ambiguous',
    '{"endpoint":"wss://r.test/d","token":"SECRET9"} {"endpoint":"wss://r.test/d","token":"SECRET8"}',
    'two objects',
  ],
  [
    'ambiguous',
    '{"endpoint":"wss://r.test/d","token":"SECRET9"}\nwss://q.test/d SECRET8',
    'an object and another enrollment in words',
  ],
  ['ambiguous', 'wss://r.test/d wss://q.test/d SECRET9', 'two endpoints'],
  ['ambiguous', 'wss://r.test/d SECRET9 SECRET8', 'two bare tokens'],
  ['ambiguous', 'wss://r.test/d token=SECRET9 token=SECRET8', 'two labelled tokens'],
  ['ambiguous', 'wss://r.test/d?token=SECRET9&token=SECRET8', 'two tokens in the query string'],
];

describe('wire.md §1: what a person pastes', () => {
  it.each(Object.entries(understood))('is understood: %s', (_name, text) => {
    expect(parseEnrollment(text)).toEqual(GOOD);
    expect(describeEnrollmentDraft(text)).toEqual({ host: 'r.test', problem: null });
  });

  it.each(refused)('is refused as %s: %j (%s)', (problem, text) => {
    expect(parseEnrollment(text)).toEqual({ ok: false, problem });
    expect(describeEnrollmentDraft(text).problem).toBe(problem);
  });

  it.each(['ws://localhost:8080/d', 'ws://127.0.0.1/d', 'ws://127.8.9.10:1/d', 'ws://[::1]:8080/d'])(
    'ws is for loopback only: %s',
    (endpoint) => {
      expect(parseEnrollment(`${endpoint} abc123`)).toEqual({
        ok: true,
        enrollment: { endpoint, token: TOKEN },
      });
    },
  );

  it('a query string is kept as it was written, except the token', () => {
    const parsed = parseEnrollment('wss://r.test/d?b=%20x+y&token=q&a=1,2 abc123');
    expect(parsed).toEqual({
      ok: true,
      enrollment: { endpoint: 'wss://r.test/d?b=%20x+y&a=1,2', token: TOKEN },
    });
  });

  it('an address in other letters keeps them', () => {
    for (const endpoint of [
      'wss://예시.한국',
      'wss://예시.한국/d',
      'wss://r.test/소켓',
      'wss://r.test/d?q=값',
    ]) {
      expect(parseEnrollment(`${endpoint} abc123`)).toEqual({
        ok: true,
        enrollment: { endpoint: new URL(endpoint).href, token: TOKEN },
      });
    }
  });

  it('a draft names the host as soon as the endpoint is there', () => {
    expect(describeEnrollmentDraft('wss://r.test:8443/d')).toEqual({
      host: 'r.test:8443',
      problem: 'token_missing',
    });
    expect(describeEnrollmentDraft('wss://r.test/d a b')).toEqual({ host: 'r.test', problem: 'ambiguous' });
    expect(describeEnrollmentDraft('http://r.test/d a')).toEqual({
      host: null,
      problem: 'endpoint_wrong_scheme',
    });
  });

  it('the host to show has the port unless it is the usual one', () => {
    expect(enrollmentHost('wss://r.test/d?x=1')).toBe('r.test');
    expect(enrollmentHost('wss://r.test:444/d')).toBe('r.test:444');
    expect(enrollmentHost('nonsense')).toBe('');
  });
});

/** `xn--` begins names in punycode, of which most are none. */
const hostname = fc
  .stringMatching(/^[a-z]([a-z0-9-]{0,8}[a-z0-9])?\.(test|example)$/)
  .filter((host) => !host.startsWith('xn--'));
const endpoints = fc
  .tuple(
    fc.oneof(
      hostname.map((host) => `wss://${host}`),
      fc.constantFrom('ws://localhost:81', 'ws://127.0.0.1:82'),
    ),
    fc.stringMatching(/^(\/[A-Za-z0-9._~-]{1,8}){1,4}$/),
    fc.stringMatching(/^(\?[a-s]{1,5}=[A-Za-z0-9%20._~-]{0,8})?$/),
  )
  .map(([origin, path, query]) => new URL(`${origin}${path}${query}`).href);

/** Any `tchar`s; with a letter, and not itself in quotes, as wire.md forgives quotes. */
const tokens = fc
  .stringMatching(/^[!#$%&'*+\-.^_`|~0-9A-Za-z]{1,40}$/)
  .filter((token) => /[A-Za-z0-9]/.test(token) && !/^['`]|['`]$/.test(token))
  .filter((token) => !/^-*(.*[_.-])?(token|endpoint)$/i.test(token) && !/^[$#%]$/.test(token));

const space = fc.stringMatching(/^[ \t\r\n\u00A0\u200B\uFEFF]{0,4}$/);
const gap = fc.constantFrom(' ', '\n', '\r\n', ', ', ',\n', '\t', ' \u200B ', ';\n');
const quotes = fc.constantFrom(
  ['', ''],
  ['"', '"'],
  ['“', '”'],
  ['„', '“'],
  ['«', '»'],
  ['‘', '’'],
  ['`', '`'],
);

const decorated = fc
  .tuple(endpoints, tokens, fc.boolean(), quotes, space, space, gap, fc.nat(6))
  .map(([endpoint, token, swap, [open, close], before, after, between, form]) => {
    const parts = swap ? [token, endpoint] : [endpoint, token];
    const names = swap ? ['token', 'endpoint'] : ['endpoint', 'token'];
    const object = Object.fromEntries(names.map((name, index) => [name, parts[index]]));
    const json = [
      JSON.stringify(object),
      JSON.stringify({ data: { id: 1, list: [{ enrollment: object }] } }, null, 2),
      `$ curl -s x | jq .\n${JSON.stringify(object, null, 2)},`,
      `[info] done: ${JSON.stringify(object)}`,
    ][form];
    const bare = parts.map((part) => `${open}${part}${close}`).join(between);
    const labelled = parts.map((part, index) => `${names[index]}=${open}${part}${close}`).join('\n');
    return { endpoint, token, text: before + (json ?? (form === 4 ? labelled : bare)) + after };
  });

describe('wire.md §1: properties', () => {
  it('any decoration of an enrollment parses to the same values', () => {
    fc.assert(
      fc.property(decorated, ({ endpoint, token, text }) => {
        expect(parseEnrollment(text)).toEqual({ ok: true, enrollment: { endpoint, token } });
      }),
      { numRuns: 2000 },
    );
  });

  it('every token that is sendable survives as JSON, whatever it looks like', () => {
    fc.assert(
      fc.property(fc.stringMatching(/^[!#$%&'*+\-.^_`|~0-9A-Za-z]{1,40}$/), (token) => {
        const parsed = parseEnrollment(JSON.stringify({ endpoint: ENDPOINT, token }));
        expect(parsed).toEqual({ ok: true, enrollment: { endpoint: ENDPOINT, token } });
      }),
    );
  });

  it('whatever is pasted, nothing throws, and a problem holds nothing of the text', () => {
    const pieces = fc.constantFrom(
      '{',
      '}',
      '"',
      '“',
      "'",
      ':',
      ',',
      '[',
      ']',
      '\\',
      'endpoint',
      'token',
      'wss://r.test',
      'SECRET9',
      '=',
      ' ',
      '\n',
      '?token=',
      '#',
      '@',
    );
    const text = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.array(pieces, { maxLength: 30 }).map((all) => all.join('')),
    );
    fc.assert(
      fc.property(text, (pasted) => {
        const parsed = parseEnrollment(pasted);
        if (parsed.ok) {
          expect(parsed.enrollment.endpoint).toMatch(/^wss?:\/\/[^#@/?]+\/[^#]*$/);
          expect(parsed.enrollment.token).toMatch(/^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/);
        } else {
          expect(Object.keys(parsed)).toEqual(['ok', 'problem']);
          expect(parsed.problem).toMatch(/^[a-z_]+$/);
        }
      }),
      { numRuns: 3000 },
    );
  });

  it('text made to be slow to read is read before anyone loses patience', () => {
    const pieces = [
      '{',
      '{"a":',
      '{"a":[',
      '{"a":{"b":1},',
      '"',
      '\\"',
      "'",
      "' ",
      '{“',
      'token ',
      'token=',
      '`a',
      '\n> ',
      '\n$ ',
      '{,"',
      '\nset -x ',
      '**token: ',
      '$env:',
      'wss://a](',
    ];
    for (const piece of pieces) {
      expect(parseEnrollment(piece.repeat(Math.floor(LONGEST_PASTE / piece.length)))).toMatchObject({
        ok: false,
      });
    }
  }, 120_000);
});
