/**
 * Keeps the relay host alive and tells it when to look anew. A dead offscreen document is noticed by nobody
 * (chrome-facts), so that somebody has to ask.
 */
import { send } from './messaging';
import { ensureOffscreen } from './offscreen-lifetime';

/** Far longer than the relay host ever takes for a message. */
const ANSWER_MS = 10_000;
const SECOND_TRY_MS = 1_000;

/** Makes the offscreen document if there is none, and replaces one that does not answer. */
export async function reviveRelayHost(): Promise<void> {
  await ensureOffscreen();
  if (await isAnswering()) return;
  await wait(SECOND_TRY_MS);
  if (await isAnswering()) return;
  await chrome.offscreen.closeDocument().catch(() => undefined);
  await ensureOffscreen();
}

/** Enrollment, pause or policy changed. A relay host that is only just made looks by itself. */
export async function reconfigureRelayHost(): Promise<void> {
  await ensureOffscreen();
  await send('relay.reconfigure', {}).catch(() => undefined);
}

function isAnswering(): Promise<boolean> {
  const answered = send('relay.diagnostics', {}).then(
    () => true,
    () => false,
  );
  return Promise.race([answered, wait(ANSWER_MS).then(() => false)]);
}

function wait(ms: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, ms);
  });
}
