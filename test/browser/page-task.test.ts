/**
 * One long task as a model would do it, by the command API alone and in a tab that is never shown: log in, search,
 * filter, page, fill a form with every kind of field, use widgets in shadow roots, answer dialogs, follow a link to
 * a new tab, pay in a frame of another origin.
 */
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { JsonObject } from '../../src/protocol/json';
import { serveShop } from './fixtures/shop/shop';
import { type Site, startSite } from './harness/site';
import { call, listTabs, refusal } from './harness/tool-calls';
import { createWorld, type World } from './harness/world';

let world: World;
let payments: Site;

beforeAll(async () => {
  world = await createWorld();
  await world.browser.message('permissions.set', { name: 'page_evaluate', permission: 'allow' });
  payments = await startSite();
  serveShop(world.site, payments);
});

afterAll(async () => {
  await payments?.close();
  await world?.[Symbol.asyncDispose]();
});

const PROFILE: [field: string, value: string | boolean, held?: string][] = [
  ['name', 'Kim Minsu'],
  ['mail', 'kim@example.com'],
  ['phone', '+82 2 123'],
  ['site', 'https://example.com/'],
  ['search', 'nails'],
  ['password', 'correct horse'],
  ['age', '41'],
  ['volume', '8'],
  ['birthday', '1985-02-28'],
  ['alarm', '06:45'],
  ['meeting', '2026-12-01T09:30'],
  ['month', '2026-11'],
  ['week', '2026-W49'],
  ['colour', '#12ab9f'],
  ['news', true, 'on'],
  ['dark', true, 'on'],
  ['about', 'Two\nlines'],
];

it('forty and more steps from the login to the paid order', async () => {
  let tab_id = 0;
  let steps = 0;
  const shown = (await listTabs(world)).find(({ active }) => active)?.tab_id;
  const act = async (tool: string, input: JsonObject = {}): Promise<JsonObject> => {
    steps += 1;
    const output = await call(world, tool, { tab_id, ...input });
    if (tool !== 'page_wait')
      expect(output, `${tool} ${JSON.stringify(input)}`).toMatchObject({ settled: true });
    return output;
  };
  const sees = (text: string): Promise<JsonObject> => act('page_wait', { text, timeout_ms: 5_000 });

  // Log in: the button is free only when the form is complete; the first password is wrong.
  const opened = await call(world, 'tab_open', { url: world.site.url('/login') });
  steps += 1;
  tab_id = opened.tab_id as number;
  expect(await act('page_fill', { selector: '[name=user]', value: 'minsu' })).toMatchObject({
    value: 'minsu',
  });
  expect(await refusal(world, 'page_click', { tab_id, selector: '#enter' }, { timeout_ms: 2_000 })).toEqual({
    error_code: 'element_not_actionable',
    error: expect.stringContaining('disabled'),
  });
  expect(await act('page_fill', { selector: '[name=password]', value: 'wrong' })).not.toHaveProperty('value');
  expect(await act('page_fill', { selector: '[name=stay]', value: true })).toMatchObject({ checked: true });
  expect((await act('page_click', { selector: '#enter' })).changes).toMatchObject({
    messages: [{ role: 'alert', text: 'The password is wrong.' }],
  });
  await act('page_fill', { selector: '[name=password]', value: 'open sesame' });
  expect(await act('page_press', { selector: '[name=password]', key: 'Enter' })).toMatchObject({
    url: world.site.url('/products'),
    changes: { navigated: true, url: world.site.url('/products'), title: 'Products – Shop' },
  });
  await sees('Hello minsu');

  // The banner covers the end of the page.
  await sees('18 products');
  expect((await act('page_click', { selector: '#agree' })).changes).toMatchObject({ content: true });

  // Page through, sort, search, filter.
  expect((await act('page_click', { selector: '#next' })).changes).toMatchObject({ content: true });
  await sees('Page 2 of 4');
  await act('page_click', { selector: '#next', count: 2 });
  await sees('Page 4 of 4');
  await act('page_click', { selector: '#by-price' });
  await sees('Page 1 of 4');
  expect(await act('page_press', { selector: '#query', text: 'paint' })).toMatchObject({ value: 'paint' });
  await sees('8 products');
  expect(await act('page_select', { selector: '#kind', label: 'Tools' })).toMatchObject({
    selected: [{ value: 'tool', label: 'Tools', index: 1 }],
  });
  await sees('0 products');
  await act('page_fill', { selector: '#query', value: 'saw' });
  await sees('1 products');
  expect(await act('page_press', { selector: '#stock', key: 'Space' })).toMatchObject({
    changes: { focus: { element: expect.stringContaining('id="stock"') } },
  });
  await sees('1 products');

  // The menu opens under the pointer.
  await act('page_hover', { selector: '#menu' });
  expect(await act('page_click', { selector: '#to-profile' })).toMatchObject({
    url: world.site.url('/profile'),
  });

  // A form with every kind of field.
  for (const [name, value] of PROFILE) {
    const field = `[name=${name}]`;
    const held = typeof value === 'boolean' ? { checked: value } : name === 'password' ? {} : { value };
    expect(await act('page_fill', { selector: field, value })).toMatchObject(held);
  }
  await act('page_click', { selector: '[name=size][value=s]' });
  expect(await act('page_press', { key: 'ArrowRight' })).toMatchObject({
    changes: { focus: { element: expect.stringContaining('size') } },
  });
  await act('page_select', { selector: '[name=country]', value: 'kr' });
  await act('page_select', { selector: '[name=topics]', label: ['News', 'Music'] });
  expect(await act('page_fill', { selector: '#bio', value: 'I build things.' })).toMatchObject({
    value: 'I build things.',
  });
  const saved = await act('page_click', { selector: '#save' });
  const [message] = (saved.changes as { messages: { text: string }[] }).messages;
  expect(message?.text).toContain('Kim Minsu');
  const summary = (await call(world, 'page_evaluate', {
    tab_id,
    expression: `JSON.parse(document.querySelector('#summary').textContent)`,
  })) as { result?: JsonObject };
  steps += 1;
  expect(summary.result).toEqual({
    facts: {
      ...Object.fromEntries(PROFILE.map(([name, value, held]) => [name, held ?? value])),
      size: 'l',
      country: 'kr',
      topics: 'News+Music',
      bio: 'I build things.',
    },
    heard: PROFILE.length + 4,
  });

  // Widgets in shadow roots, one within the other, and a slotted button.
  await call(world, 'tab_navigate', { tab_id, url: world.site.url('/product') });
  steps += 1;
  await act('page_click', { selector: '#more' });
  await act('page_press', { selector: '#amount', key: 'ArrowUp' });
  expect(await act('page_fill', { selector: '#wrap', value: true })).toMatchObject({ checked: true });
  await act('page_click', { selector: '#buy' });
  await sees('1 line: 3 pieces, wrapped');

  // The address changes without a load.
  expect(await act('page_click', { selector: '[href="/product/reviews"]' })).toMatchObject({
    url: world.site.url('/product/reviews'),
    changes: { url: world.site.url('/product/reviews'), title: 'Reviews – Shop' },
  });
  await act('page_wait', { url: '*/product/reviews', text: 'Five stars from everyone.', idle: 'dom' });

  // A dialog of the page, and one of the browser.
  expect((await act('page_click', { selector: '#clear' })).changes).toMatchObject({
    messages: [{ role: 'dialog', text: expect.stringContaining('Empty the cart?') }],
  });
  expect(await refusal(world, 'page_click', { tab_id, selector: '#buy' }, { timeout_ms: 2_000 })).toEqual({
    error_code: 'element_not_actionable',
    error: expect.stringMatching(/covered by <dialog id="sure"/),
  });
  await act('page_press', { key: 'Escape' });
  await sees('1 line: 3 pieces, wrapped');
  expect(
    await act('page_click', { selector: '#coupon', dialogs: 'accept', prompt_text: 'TEN' }),
  ).toMatchObject({
    changes: {
      dialogs: [{ type: 'prompt', message: 'The code of your coupon?', accepted: true, text: 'TEN' }],
    },
  });
  await sees('Coupon TEN taken.');

  // A new tab, opened behind.
  const { changes } = await act('page_click', { selector: '#terms' });
  const [terms] = (changes as { new_tabs: JsonObject[] }).new_tabs;
  expect(terms).toEqual({ tab_id: expect.any(Number), url: world.site.url('/terms'), title: 'Terms' });
  await call(world, 'page_wait', { tab_id: terms?.tab_id as number, text: 'Terms of the shop' });
  await call(world, 'tab_close', { tab_id: terms?.tab_id as number });
  steps += 2;

  // Pay, in a frame of another origin that lies far down.
  expect(await act('page_click', { selector: '#checkout' })).toMatchObject({
    url: world.site.url('/checkout'),
  });
  await act('page_wait', { selector: '[name=card]' });
  expect(await act('page_press', { selector: '[name=card]', text: '4111111111111111' })).toMatchObject({
    value: '4111 1111 1111 1111',
  });
  await act('page_fill', { selector: '[name=until]', value: '2029-04' });
  await act('page_press', { key: 'Tab' });
  await act('page_press', { key: ' ' });
  await act('page_fill', { selector: '[name=code]', value: '123' });
  await act('page_click', { selector: '#pay' });
  await sees('Paid with card 4111 1111 1111 1111.');

  expect(steps).toBeGreaterThanOrEqual(40);
  expect((await listTabs(world)).find(({ active }) => active)?.tab_id).toBe(shown);
  expect(world.relay.violations).toEqual([]);
});
