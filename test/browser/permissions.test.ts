/**
 * What the platform may do (tools.md, Permission classes; policy.md): the settings page, managed permissions
 * and the URL rules, in a real browser under a policy of its own.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readMatchPattern } from '../../src/settings/match-patterns';
import { TOOLS } from '../../src/tools/registry';
import { EXTENSION_ID } from './harness/agent-browser';
import { Person } from './harness/person';
import { PolicyFolder } from './harness/policy-folder';
import { call, inServiceWorker, listTabs, openTab, refusal } from './harness/tool-calls';
import { until } from './harness/until';
import { createWorld, type World } from './harness/world';

const SETTINGS_PAGE = 'src/ui/settings/settings.html';

describe.runIf(PolicyFolder.isPossible())('permissions', () => {
  let policies: PolicyFolder;
  let world: World;
  let person: Person;

  beforeAll(async () => {
    policies = new PolicyFolder(EXTENSION_ID);
    world = await createWorld({ browser: { policies, language: 'en-US' } });
    person = await Person.open(world.browser, SETTINGS_PAGE, { width: 900, height: 900 });
  });

  afterAll(async () => {
    await world?.[Symbol.asyncDispose]();
    policies.remove();
  });

  const catalogue = async () =>
    new Map(
      ((await call(world, 'describe_tools')).tools as { name: string; requires_confirmation: boolean }[]).map(
        ({ name, requires_confirmation }) => [name, requires_confirmation],
      ),
    );

  /** As a person does with a list of choices: the event is Chrome's own. */
  const choose = (name: string, label: string): Promise<unknown> =>
    until(`“${name}” can be set to “${label}”`, () =>
      person.page.evaluate<boolean>(`(() => {
        const select = document.querySelector('select[aria-label=' + ${JSON.stringify(JSON.stringify(`Permission: ${name}`))} + ']');
        const option = [...(select?.options ?? [])].find((one) => one.text === ${JSON.stringify(label)});
        if (!option) return false;
        select.value = option.value;
        select.dispatchEvent(new Event('change', { bubbles: true }));
        return true;
      })()`),
    );

  it('the settings page shows every class and tool with what holds; for everybody, in a narrow window too', async () => {
    await person.sees(/Settings What the platform may do/);
    await person.sees(/See Screenshots.* Take a screenshot screenshot/);
    expect(await person.text()).not.toContain('workspace_info');
    expect(await person.barriers()).toEqual([]);
    await person.resize({ width: 320, height: 700 });
    expect(await person.isTooWide()).toBe(false);
    expect(await person.barriers()).toEqual([]);
    await person.resize({ width: 900, height: 900 });
  });

  it('the popup leads there', async () => {
    const popup = await Person.open(world.browser);
    expect(await popup.offers('Settings')).toBe(true);
    await popup.leave();
    await person.page.send('Page.bringToFront');
  });

  it('a tool that the person denies is absent and capability_denied; its class can ask meanwhile', async () => {
    await choose('Act in pages and tabs', 'Ask');
    await until('it is saved', async () => (await catalogue()).get('tab_close') === true);
    await choose('Open a tab', "Don't allow");
    await until('it is saved', async () => !(await catalogue()).has('tab_open'));
    expect(await refusal(world, 'tab_open', { url: world.site.url('/welcome') })).toMatchObject({
      error_code: 'capability_denied',
    });
    await choose('Open a tab', 'As the group (Ask)');
    await until('it asks', async () => (await catalogue()).get('tab_open') === true);
    await choose('Act in pages and tabs', 'Allow');
    await until('it is open', async () => (await catalogue()).get('tab_open') === false);
    const welcome = await openTab(world, '/welcome');
    await call(world, 'tab_close', { tab_id: welcome });
  });

  it('what policy fixes wins, is shown as managed, and cannot be changed', async () => {
    await choose('Open a tab', "Don't allow");
    await until('it is saved', async () => !(await catalogue()).has('tab_open'));
    policies.set({ tool_permissions: { interact: 'allow', screenshot: 'deny' } });
    await until('policy rules', async () => !(await catalogue()).has('screenshot'));
    expect((await catalogue()).get('tab_open')).toBe(false);
    await person.sees(/Take a screenshot screenshot Don't allow Set by your organisation/);
    await person.sees(/Open a tab tab_open Allow Set by your organisation/);
    const { permissions: shown } = await world.browser.message('permissions.get', {});
    const free = shown.classes.flatMap((one) => [one, ...one.tools]).filter(({ managed }) => !managed);
    expect(await person.page.evaluate(`document.querySelectorAll('select').length`)).toBe(free.length);
    expect(free.length).toBeLessThan(TOOLS.length);
    expect(await person.barriers()).toEqual([]);
    const { permissions } = await world.browser.message('permissions.set', {
      name: 'screenshot',
      permission: 'allow',
    });
    expect(permissions.classes[0]?.tools[0]).toMatchObject({ name: 'screenshot', permission: 'deny' });
    expect(await refusal(world, 'screenshot')).toMatchObject({ error_code: 'capability_denied' });
    policies.clear();
    await until('the person’s own word holds again', async () => {
      const tools = await catalogue();
      return tools.has('screenshot') && !tools.has('tab_open');
    });
    await choose('Open a tab', 'As the group (Allow)');
    await until('it is open', async () => (await catalogue()).has('tab_open'));
  });

  describe('url_allowlist and url_blocklist', () => {
    let open: number;
    let closed: number;
    const local = (path: string) => `http://localhost:${world.site.port}${path}`;
    const restricted = { error_code: 'page_restricted' };

    beforeAll(async () => {
      open = await openTab(world, '/welcome');
      closed = (await call(world, 'tab_open', { url: local('/welcome'), active: true })).tab_id as number;
      world.site.serve('/away', (_request, response) => {
        response.writeHead(302, { location: local('/landed') });
        response.end();
      });
      policies.set({ url_blocklist: ['*://localhost/*', 'localhost'] });
      await until('the rules hold', async () =>
        (await listTabs(world)).some((tab) => tab.tab_id === closed && tab.url === ''),
      );
    });

    it('a wrong pattern is named in the popup', async () => {
      const popup = await Person.open(world.browser);
      await popup.sees('Ignored policy settings: 1');
      await popup.click('Ignored policy settings: 1');
      await popup.sees('url_blocklist[1] must be a match pattern');
      await popup.leave();
    });

    it('tab_list keeps the page’s name and address to itself', async () => {
      const tabs = await listTabs(world);
      expect(tabs.find(({ tab_id }) => tab_id === closed)).toMatchObject({
        url: '',
        title: '',
        restricted: true,
      });
      expect(tabs.find(({ tab_id }) => tab_id === open)).toMatchObject({ title: 'Welcome' });
      expect(tabs.find(({ tab_id }) => tab_id === open)).not.toHaveProperty('restricted');
    });

    it('no tool goes there, touches it, or pictures it', async () => {
      const visits = world.site.visits.length;
      expect(await refusal(world, 'tab_open', { url: local('/x') })).toMatchObject(restricted);
      expect(await refusal(world, 'tab_navigate', { tab_id: open, url: local('/x') })).toMatchObject(
        restricted,
      );
      expect(await refusal(world, 'tab_navigate', { tab_id: closed, action: 'reload' })).toMatchObject(
        restricted,
      );
      expect(await refusal(world, 'tab_close', { tab_id: closed })).toMatchObject(restricted);
      expect(await refusal(world, 'tab_activate', { tab_id: closed })).toMatchObject(restricted);
      const session = await world.browser.connection.attach(
        (await world.browser.targets()).find(({ url }) => url === local('/welcome'))?.targetId ?? '',
      );
      await session.send('Page.bringToFront');
      expect(await refusal(world, 'screenshot', { tab_id: closed })).toMatchObject(restricted);
      expect(await refusal(world, 'screenshot')).toMatchObject(restricted);
      await session.detach();
      expect(world.site.visits).toHaveLength(visits);
    });

    it('a redirect that lands there is refused without a word of the page', async () => {
      const before = (await listTabs(world)).length;
      const refused = await refusal(world, 'tab_open', { url: world.site.url('/away') });
      expect(refused).toMatchObject(restricted);
      expect(refused.error).not.toMatch(/localhost|landed/);
      expect(await listTabs(world)).toHaveLength(before);
      const tab_id = await openTab(world, '/welcome');
      expect(await refusal(world, 'tab_navigate', { tab_id, url: world.site.url('/away') })).toMatchObject(
        restricted,
      );
      expect((await listTabs(world)).find((tab) => tab.tab_id === tab_id)).toMatchObject({
        restricted: true,
      });
    });

    it('pages of the agent are closed to it whatever the lists say', async () => {
      await person.page.send('Page.bringToFront');
      expect(await refusal(world, 'screenshot')).toMatchObject(restricted);
    });

    it('an empty window or frame that a closed page filled is as closed as that page', async () => {
      world.site.serve(
        '/frames',
        `<!doctype html><title>frames</title><p>open</p><iframe src="about:blank"></iframe>
         <iframe sandbox srcdoc="<p>sandboxed"></iframe><iframe src="${local('/filler')}"></iframe>
         <script>frames[0].document.body.append('its own')</script>`,
      );
      world.site.serve('/filler', '<!doctype html><title>filler</title>');
      world.site.serve('/opener', '<!doctype html><title>opener</title>');
      const frames = await openTab(world, '/frames');
      const opener = await world.browser.openPage(local('/opener'));
      const before = new Set((await listTabs(world)).map(({ tab_id }) => tab_id));
      await opener.send('Runtime.evaluate', {
        expression: `globalThis.w = open('about:blank'); w.document.title = 'secret'; w.document.body.append('secret words')`,
        userGesture: true,
      });
      const blank = await until('the window is there', async () =>
        (await listTabs(world)).find(({ tab_id }) => !before.has(tab_id)),
      );
      const { tab_id } = blank;
      for (const [tool, input] of [
        ['page_text', {}],
        ['page_snapshot', {}],
        ['page_click', { selector: 'body' }],
        ['page_wait', { text: 'secret' }],
        ['tab_close', {}],
      ] as const) {
        expect(await refusal(world, tool, { tab_id, ...input })).toMatchObject(restricted);
      }
      const said = await call(world, 'page_text', { tab_id: frames });
      expect(said.text).toBe('open\nits own\nsandboxed\n[a frame is left out: it is closed to the agent]');
      await call(world, 'tab_close', { tab_id: frames });
      await opener.evaluate('w.close()');
      await opener.close();
    });

    it('the settings page shows the lists, to be read', async () => {
      await person.sees(
        /Pages the platform may touch Set by your organisation Never these \*:\/\/localhost\/\*/,
      );
      expect(await person.barriers()).toEqual([]);
    });

    it('an allowlist opens nothing else', async () => {
      policies.set({ url_allowlist: ['http://localhost/*'] });
      await until('the rules hold', async () =>
        (await listTabs(world)).some((tab) => tab.tab_id === open && tab.restricted === true),
      );
      expect(await refusal(world, 'tab_open', { url: world.site.url('/welcome') })).toMatchObject(restricted);
      const { tab_id } = await call(world, 'tab_open', { url: local('/welcome') });
      await call(world, 'tab_close', { tab_id: tab_id ?? null });
    });
  });

  it('match patterns are what Chrome takes for them, and match what Chrome matches', async () => {
    policies.clear();
    await until('nothing of the site is closed', async () =>
      (await listTabs(world)).some(({ url }) => url === world.site.url('/welcome')),
    );
    const { port } = world.site;
    for (const path of ['/welcome?x=1', '/a/b/c', '/a']) await openTab(world, path);
    await call(world, 'tab_open', { url: `http://localhost:${port}/a/b` });
    const patterns = [
      ...['<all_urls>', '*://*/*', 'http://*/*', 'https://*/*', 'http://127.0.0.1/*', 'http://localhost/*'],
      ...[
        'http://*.localhost/*',
        'http://*.0.0.1/*',
        'http://*.127.0.0.1/*',
        'http://LOCALHOST/*',
        'http://localhost./*',
      ],
      ...[`http://127.0.0.1:${port}/*`, 'http://127.0.0.1:1/*', 'http://127.0.0.1:*/*', `*://*:${port}/a`],
      ...[
        'http://*/a/*',
        'http://*/a*',
        'http://*/*b*',
        'http://*/welcome',
        'http://*/welcome?x=1',
        'http://*/*?x=*',
        '*://*/A',
      ],
      ...['file:///*', 'file://localhost/*', 'ftp://a.test/*', 'ws://a.test/*', 'wss://*.a.test/*'],
      ...[
        '',
        '*',
        'localhost',
        'http://localhost',
        'http:/localhost/*',
        'http://*host/*',
        'http://local*/*',
        'http://a.*.b/*',
      ],
      ...[
        'http:///*',
        'http://u@localhost/*',
        'http://localhost:99999/*',
        'http://localhost:/*',
        'http://localhost:8x/*',
        'foo://a/*',
      ],
    ];
    const theirs = await inServiceWorker<(string[] | null)[]>(
      world,
      `Promise.all(${JSON.stringify(patterns)}.map(async (url) => {
        try {
          const tabs = await chrome.tabs.query({ url });
          return tabs.map((tab) => tab.url).filter((found) => found.startsWith('http')).sort();
        } catch { return null; }
      }))`,
    );
    const urls = (await listTabs(world)).map(({ url }) => url).filter((url) => url.startsWith('http'));
    const ours = patterns.map((text) => {
      const pattern = readMatchPattern(text);
      return pattern && urls.filter((url) => pattern.matches(new URL(url))).sort();
    });
    expect(Object.fromEntries(patterns.map((text, index) => [text, ours[index]]))).toEqual(
      Object.fromEntries(patterns.map((text, index) => [text, theirs[index]])),
    );
  });

  it('made nothing break a rule of the wire', () => {
    expect(world.relay.violations).toEqual([]);
  });
});
