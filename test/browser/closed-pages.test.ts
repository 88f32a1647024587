/**
 * Closed addresses (policy.md, `url_blocklist`) where a page has, for a while or at all, no address that tells: steps
 * within a page, windows and frames that another page filled, and what is told of them by each tool.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { JsonObject } from '../../src/protocol/json';
import { EXTENSION_ID } from './harness/agent-browser';
import type { CdpSession } from './harness/cdp';
import { PolicyFolder } from './harness/policy-folder';
import { call, type ListedTab, listTabs, openTab, refusal } from './harness/tool-calls';
import { until } from './harness/until';
import { createWorld, type World } from './harness/world';

const POLICY = {
  url_blocklist: ['*://localhost/*', 'http://127.0.0.1/closed*'],
  tool_permissions: { powerful: 'allow' },
};
const RESTRICTED = { error_code: 'page_restricted' };

describe.runIf(PolicyFolder.isPossible())('closed addresses', () => {
  let policies: PolicyFolder;
  let world: World;
  /** Closed altogether. */
  const shut = (path: string) => `http://localhost:${world.site.port}${path}`;

  const page = (title: string, body = '') => `<!doctype html><title>${title}</title>${body}`;

  beforeAll(async () => {
    policies = new PolicyFolder(EXTENSION_ID);
    policies.set(POLICY);
    world = await createWorld({ browser: { policies } });
    world.site.serve('/open', page('open', '<p>open words</p><button>Go</button>'));
    world.site.serve('/opener', page('opener'));
    await world.browser.openPage(shut('/opener'));
    await untilRules(true);
  });

  afterAll(async () => {
    await world?.[Symbol.asyncDispose]();
    policies.remove();
  });

  /** A closed page is open all the time: it shows when the rules hold. */
  const untilRules = (hold: boolean): Promise<unknown> =>
    until(`the rules ${hold ? '' : 'no longer '}hold`, async () =>
      (await listTabs(world)).some(({ title, restricted }) => (hold ? restricted : title === 'opener')),
    );

  const sessionOf = async (path: string): Promise<CdpSession> => {
    const targets = await world.browser.targets();
    const found = targets.find(({ url }) => url === world.site.url(path));
    return world.browser.connection.attach(found?.targetId ?? '');
  };

  /** What a page runs as if a person had clicked; the tab that it opens. */
  const newTab = async (opener: CdpSession, expression: string): Promise<ListedTab> => {
    const before = new Set((await listTabs(world)).map(({ tab_id }) => tab_id));
    await opener.send('Runtime.evaluate', { expression, userGesture: true });
    return until('the window is there', async () =>
      (await listTabs(world)).find(({ tab_id }) => !before.has(tab_id)),
    );
  };

  const consoleTexts = async (tab_id: number): Promise<string[]> => {
    // Chrome may not have heard yet that the page went back.
    const { items } = await until('it can be read', () =>
      call(world, 'console_read', { tab_id }).catch(() => null),
    );
    return (items as { events?: { text: string }[] }[]).flatMap(
      ({ events }) => events?.map(({ text }) => text) ?? [],
    );
  };

  it('what a page logs at a closed address is not read after it went back, nor when the rules are gone', async () => {
    const tab_id = await openTab(world, '/open?console');
    await call(world, 'console_read', { tab_id });
    const session = await sessionOf('/open?console');
    const long = 'x'.repeat(9_000);
    await session.evaluate(`
      console.log('first');
      history.pushState(null, '', '/closed/page');
      console.log('secret');
      history.pushState(null, '', '/closed?' + 'y'.repeat(1200) + '/open');
      console.log('secret too');
      history.pushState(null, '', '/open?' + '${long}');
      console.log('nobody knows');
      history.pushState(null, '', '/open?' + 'y'.repeat(1200));
      console.log('last'); undefined`);
    const said = await until('the last word is there', async () => {
      const texts = await consoleTexts(tab_id);
      return texts.includes('last') && texts;
    });
    expect(said.filter((text) => /first|secret|nobody|last/.test(text))).toEqual(['first', 'last']);
    policies.clear();
    await untilRules(false);
    expect((await consoleTexts(tab_id)).join()).not.toMatch(/secret|nobody/);
    await session.evaluate(
      `history.pushState(null, '', '/closed/page'); console.log('not closed now'); undefined`,
    );
    await until('it is kept from now on', async () => {
      const answer = await consoleTexts(tab_id);
      return answer.includes('not closed now');
    });
    policies.set(POLICY);
    await untilRules(true);
    await session.evaluate(`history.pushState(null, '', '/open?back'); undefined`);
    await until('withheld', async () => !(await consoleTexts(tab_id)).includes('not closed now'));
    await session.detach();
  });

  describe('a window that a page opened and filled', () => {
    const fill = `w.document.title = 'secret'; w.document.body.append('secret words'); w.console.log('secret said');`;

    const isAsClosed = async (tab: ListedTab): Promise<void> => {
      const { tab_id } = tab;
      const listed = (await listTabs(world)).find((one) => one.tab_id === tab_id);
      expect(listed).toMatchObject({ title: '', url: '', restricted: true });
      for (const [tool, input] of [
        ['page_text', {}],
        ['page_snapshot', {}],
        ['page_click', { selector: 'body' }],
        ['page_wait', { url: '*blank' }],
        ['page_wait', { url: '*nothing' }],
        ['page_wait', { idle: 'load' }],
        ['page_evaluate', { expression: 'document.title' }],
        ['console_read', {}],
        ['screenshot', {}],
        ['tab_activate', {}],
        ['tab_close', {}],
        ['tab_navigate', { url: world.site.url('/open') }],
      ] as const) {
        const refused = await refusal(world, tool, { tab_id, ...input });
        const isShown = tool !== 'screenshot' || listed?.active === true;
        if (isShown) expect(refused, tool).toMatchObject(RESTRICTED);
        expect(refused.error).not.toContain('secret');
      }
    };

    it('a closed page: closed for every tool, also when the page is gone', async () => {
      const opener = await world.browser.openPage(shut('/opener'));
      const tab = await newTab(opener, `{ const w = open('about:blank'); ${fill} }`);
      await isAsClosed(tab);
      await opener.close();
      await isAsClosed(tab);
    });

    it('a sandboxed page, of which nothing more is known: closed', async () => {
      world.site.serve('/sandboxed', (_request, response) => {
        response.writeHead(200, {
          'content-type': 'text/html',
          'content-security-policy': 'sandbox allow-scripts allow-popups',
        });
        response.end(page('sandboxed'));
      });
      const opener = await world.browser.openPage(shut('/sandboxed'));
      await isAsClosed(await newTab(opener, `open('about:blank')`));
      await opener.close();
    });

    it('a page of a site that is closed in part: by its address then and now, as a whole when it is gone', async () => {
      const opener = await world.browser.openPage(world.site.url('/opener'));
      const open = await newTab(opener, `{ const w = globalThis.w = open('about:blank'); ${fill} }`);
      expect(open).toMatchObject({ title: 'secret', url: 'about:blank' });
      expect((await call(world, 'page_text', { tab_id: open.tab_id })).text).toBe('secret words');
      await opener.evaluate(`history.pushState(null, '', '/closed/x'); undefined`);
      await isAsClosed(open);
      const closed = await newTab(opener, `{ const w = open('about:blank'); ${fill} }`);
      await opener.evaluate(`history.pushState(null, '', '/open'); undefined`);
      await isAsClosed(closed);
      expect((await call(world, 'page_text', { tab_id: open.tab_id })).text).toBe('secret words');
      const written = await newTab(
        opener,
        `{ const w = open('about:blank'); history.pushState(null, '', '/closed/x');
           w.document.open(); w.document.write('<title>secret</title>secret words'); w.document.close();
           history.pushState(null, '', '/open'); }`,
      );
      await isAsClosed(written);
      await opener.close();
      await isAsClosed(open);
    });

    it('an empty tab of the agent is as open as ever', async () => {
      const { tab_id } = await call(world, 'tab_open', { url: 'about:blank', active: true });
      const id = tab_id as number;
      expect((await listTabs(world)).find((tab) => tab.tab_id === id)).toMatchObject({
        title: 'about:blank',
      });
      await call(world, 'tab_activate', { tab_id: id });
      await call(world, 'tab_navigate', { tab_id: id, url: world.site.url('/open') });
      expect((await call(world, 'page_text', { tab_id: id })).text).toContain('open words');
      await call(world, 'tab_navigate', { tab_id: id, url: 'about:blank' });
      await call(world, 'tab_close', { tab_id: id });
    });
  });

  it('frames whose content a closed page may have made are left out', async () => {
    world.site.serve('/data', page('data', `<script>location = 'data:text/html,<p>secret'</script>`));
    world.site.serve('/framed', page('framed', `<p>open</p><iframe src="${shut('/data')}"></iframe>`));
    const tab_id = await openTab(world, '/framed');
    await until('the frame is there', async () => {
      const { text } = await call(world, 'page_text', { tab_id });
      expect(text).not.toContain('secret');
      return `${text}`.includes('closed to the agent');
    });
    await call(world, 'tab_close', { tab_id });
  });

  it('page_wait: a page that comes to a closed address is refused, whether it fits or not', async () => {
    for (const url of ['*/closed/there', '*/closed/elsewhere', '*nothing']) {
      const tab_id = await openTab(world, '/open?wait');
      const session = await sessionOf('/open?wait');
      await session.evaluate(
        `setTimeout(() => history.pushState(null, '', '/closed/there'), 500); undefined`,
      );
      const refused = await refusal(world, 'page_wait', { tab_id, url, timeout_ms: 5_000 });
      expect(refused).toMatchObject(RESTRICTED);
      expect(refused.error).not.toMatch(/closed\/|fit/);
      await session.detach();
    }
  });

  it('page_evaluate: what a script finds at a closed address is not told', async () => {
    const tab_id = await openTab(world, '/open?evaluate');
    const expression = `history.pushState(null, '', '/closed/x'); 'secret'`;
    expect(await refusal(world, 'page_evaluate', { tab_id, expression })).toMatchObject(RESTRICTED);
  });

  it('an act that leads to a closed address tells that, and nothing of the page', async () => {
    const tab_id = await openTab(world, '/open?act');
    const session = await sessionOf('/open?act');
    await session.evaluate(`document.querySelector('button').onclick = () => {
      history.pushState(null, '', '/closed/after'); document.title = 'secret title';
      confirm('secret question'); document.body.append('secret');
    }; undefined`);
    const { changes, url } = await call(world, 'page_click', {
      tab_id,
      selector: 'button',
      dialogs: 'dismiss',
    });
    expect(url).toBeNull();
    expect(changes).toMatchObject({ restricted: true });
    expect(JSON.stringify(changes as JsonObject)).not.toMatch(/secret|closed/);
    await session.detach();
  });

  it('tab_navigate: a redirect to a closed page says so; the tab stays, and nothing of it is told', async () => {
    world.site.serve('/away', (_request, response) => {
      response.writeHead(302, { location: shut('/opener') });
      response.end();
    });
    const tab_id = await openTab(world, '/open?redirect');
    for (const tool of ['tab_navigate', 'page_text', 'screenshot', 'console_read'] as const) {
      const input = tool === 'tab_navigate' ? { tab_id, url: world.site.url('/away') } : { tab_id };
      const refused = await refusal(world, tool, input);
      if (tool !== 'screenshot') expect(refused, tool).toMatchObject(RESTRICTED);
      expect(refused.error).not.toMatch(/localhost|opener/);
    }
    expect((await listTabs(world)).find((tab) => tab.tab_id === tab_id)).toMatchObject({
      restricted: true,
      url: '',
      title: '',
    });
  });

  it('made nothing break a rule of the wire', () => {
    expect(world.relay.violations).toEqual([]);
  });
});
