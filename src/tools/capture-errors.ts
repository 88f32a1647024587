/** What Chrome's refusals to capture mean (tools.md, screenshot). Chrome's own text is not passed on. Pure. */
import { AgentError } from '../protocol/errors';

/** Chrome's limit was hit all the same: the capture is to be tried again in the next slot. */
export class CaptureQuotaExceeded extends Error {
  constructor() {
    super('capture quota exceeded');
    this.name = 'CaptureQuotaExceeded';
  }
}

/** The page had nothing drawn yet, as right after its tab came to the front: a moment later it may. */
export class CaptureNotReady extends Error {
  constructor() {
    super('nothing to capture yet');
    this.name = 'CaptureNotReady';
  }
}

const NOT_READY = /readback failed|view is invisible/;
const QUOTA = /MAX_CAPTURE_VISIBLE_TAB_CALLS_PER_SECOND/;

/** Chrome speaks of permissions, of the policy, or of pages it keeps every extension off. */
const RESTRICTED =
  /activeTab|<all_urls>|Cannot access|cannot be (?:captured|scripted)|[Pp]olicy|screenshots has been disabled/;

/** `thrown` is what `captureVisibleTab` rejected with. */
export function captureError(thrown: unknown): AgentError | CaptureQuotaExceeded | CaptureNotReady {
  const text = thrown instanceof Error ? thrown.message : String(thrown);
  if (QUOTA.test(text)) return new CaptureQuotaExceeded();
  if (RESTRICTED.test(text)) return new AgentError('capture_restricted');
  if (NOT_READY.test(text)) return new CaptureNotReady();
  return captureFailed();
}

export function captureFailed(): AgentError {
  return new AgentError(
    'screen_unavailable',
    'Chrome could not capture the window. It may be closed, minimized, or the screen may be locked.',
  );
}

/** A capture Chrome never answered: it does so for minimized windows and locked screens. */
export function captureUnanswered(): AgentError {
  return new AgentError(
    'screen_unavailable',
    'Chrome gave no picture of the window. It may be minimized, or the screen may be locked.',
  );
}
