/** page_snapshot against Chromium's own accessibility tree, on pages of every kind (tools.md, Catalogue). */
import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { chromiumNodes, compared, outlineNodes } from './harness/accessibility';
import { call, openTab } from './harness/tool-calls';
import { until } from './harness/until';
import { createWorld, type World } from './harness/world';

const PAGES = fileURLToPath(new URL('fixtures/pages', import.meta.url));
const names = readdirSync(PAGES).sort();

let world: World;
const totals = { nodes: 0, differences: 0 };

beforeAll(async () => {
  world = await createWorld();
  for (const name of names) world.site.serve(`/${name}`, readFileSync(`${PAGES}/${name}`, 'utf8'));
});

afterAll(async () => {
  await world?.[Symbol.asyncDispose]();
});

it.each(names)('%s: four of five roles and names at least are those of Chromium', async (name) => {
  const tab_id = await openTab(world, `/${name}`);
  const target = await until('the page is there', async () =>
    (await world.browser.targets()).find(({ url }) => url === world.site.url(`/${name}`)),
  );
  const page = await world.browser.connection.attach(target.targetId);
  await page.send('Accessibility.enable');
  const { snapshot } = await call(world, 'page_snapshot', { tab_id });
  const { nodes, differences } = compared(
    await chromiumNodes(page),
    await outlineNodes(page, snapshot as string),
  );
  totals.nodes += nodes;
  totals.differences += differences.length;
  for (const difference of differences) console.log(`${name}: ${difference}`);
  await call(world, 'tab_close', { tab_id });
  expect(nodes).toBeGreaterThan(4);
  expect(differences.length / nodes, differences.join('\n')).toBeLessThanOrEqual(0.2);
});

it('in all at least 95 % of the roles and names are those of Chromium', () => {
  const equal = 1 - totals.differences / totals.nodes;
  console.log(
    `${totals.nodes} nodes, ${totals.differences} differences: ${(equal * 100).toFixed(1)} % equal`,
  );
  expect(totals.nodes).toBeGreaterThan(400);
  expect(equal).toBeGreaterThanOrEqual(0.95);
});
