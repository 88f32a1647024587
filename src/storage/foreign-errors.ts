/**
 * What the File System Access API throws, as codes of the one table. The text of a foreign error is read
 * for telling a full disk, never passed on. Pure.
 */
import { AgentError } from '../protocol/errors';

/** The name of a `DOMException` or other error; `""` for anything else. */
export function errorName(thrown: unknown): string {
  return typeof thrown === 'object' && thrown !== null && 'name' in thrown ? String(thrown.name) : '';
}

export function isNotFound(thrown: unknown): boolean {
  return errorName(thrown) === 'NotFoundError';
}

/** A file where a directory was asked for, or the reverse. */
export function isOtherKind(thrown: unknown): boolean {
  return errorName(thrown) === 'TypeMismatchError';
}

/** The API refuses the name (chrome-facts.md): a TypeError, or for a name too long an InvalidStateError. */
export function isNameRefused(thrown: unknown): boolean {
  return thrown instanceof TypeError || errorName(thrown) === 'InvalidStateError';
}

/** The content changed since `getFile()`, or cannot be read at this moment. */
export function isUnreadable(thrown: unknown): boolean {
  return errorName(thrown) === 'NotReadableError';
}

/**
 * Whatever a job threw, as an `AgentError`. A full disk sometimes is an AbortError about a data pipe
 * (chrome-facts.md). An aborted `signal` explains every AbortError. NotFoundError: what a job was about to
 * work on went away; that the root itself is gone must have been looked at before.
 */
export function storageError(thrown: unknown, signal?: AbortSignal): AgentError {
  if (thrown instanceof AgentError) return thrown;
  switch (errorName(thrown)) {
    case 'QuotaExceededError':
      return new AgentError('storage_quota_exceeded');
    case 'AbortError':
      if (signal?.aborted) return cancellation(signal);
      return thrown instanceof Error && /data pipe/i.test(thrown.message)
        ? new AgentError('storage_quota_exceeded')
        : new AgentError('internal_error');
    case 'NotAllowedError':
    case 'SecurityError':
      return new AgentError('storage_unavailable');
    case 'NotFoundError':
    case 'NotReadableError':
    case 'TypeMismatchError':
    case 'InvalidModificationError':
    case 'NoModificationAllowedError':
      return new AgentError('storage_state_conflict');
    default:
      return new AgentError('internal_error');
  }
}

/** Why `signal` was aborted: its own `AgentError`, else `cancelled`. */
export function cancellation(signal: AbortSignal): AgentError {
  return signal.reason instanceof AgentError ? signal.reason : new AgentError('cancelled');
}

/** A safe point: throws when the job is to stop. */
export function stopIfAborted(signal: AbortSignal): void {
  if (signal.aborted) throw cancellation(signal);
}
