/** The `curl` lines a user of the platform's command API can paste, for a running stand-in. */
import type { FakeRelay } from '../test/fake-relay/fake-relay';

/** Lines for the first device when there is one, else from creating one on. */
export function curlLines(relay: FakeRelay): string {
  const device = relay.devices[0];
  const resource = device?.id ?? '$RES';
  const create = [
    '# create a device; its enrollment is what you paste into the popup',
    `curl -s -X POST ${relay.origin}/api/v1/stations/stn_local/devices \\`,
    `  -H 'Content-Type: application/json' -d '{"type":"actual","kind":"chrome","name":"my-browser"}'`,
    '# RES is the id in the answer',
    '',
  ];
  return [
    ...(device ? [] : create),
    '# send a command and wait for its answer',
    `curl -s -X POST ${relay.origin}/api/v1/resources/${resource}/commands \\`,
    `  -H 'Content-Type: application/json' -d '{"command":"tab_list","input":{},"wait":true}'`,
    '',
    '# what the browser shows',
    `curl -s '${relay.origin}/api/v1/resources/${resource}/screen?max_age_ms=1000' -o screen.jpg`,
  ].join('\n');
}
