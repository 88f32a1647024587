/** The URL rules as they hold at each moment, also while a tool runs. Knows no browser. */
import type { Settings } from '../settings/settings-store';
import { type UrlRules, urlRules } from '../settings/url-rules';
import { remembered } from './remembered';

/** `own_origin`: that of the extension's pages. */
export function followUrlRules(
  settings: Pick<Settings, 'settled' | 'onChanged'>,
  own_origin: string,
): () => Promise<UrlRules> {
  let rules: UrlRules = { mayEnter: () => false };
  let readings = 0;
  const read = async () => {
    readings += 1;
    const reading = readings;
    const { policy } = await settings.settled();
    // A later reading may have overtaken this one.
    if (reading === readings) rules = urlRules(policy, own_origin);
  };
  let known = remembered(read);
  settings.onChanged(() => {
    known = remembered(read);
    // A running tool asks `rules`; when this reading fails, the next request reads anew or does not run.
    known().catch(() => undefined);
  });
  const live: UrlRules = { mayEnter: (url) => rules.mayEnter(url) };
  return async () => {
    await known();
    return live;
  };
}
