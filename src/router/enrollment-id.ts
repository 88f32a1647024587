/**
 * The name of an enrollment between the contexts: it changes with endpoint and token and is neither. It
 * carries the token's digest, so that a refused token can be remembered even when the enrollment has
 * changed since.
 */

import { sha256 } from '../protocol/request-names';
import type { EffectiveEnrollment } from '../settings/effective-settings';

const ENDPOINT_DIGITS = 16;

export async function enrollmentId({ endpoint, token_digest }: EffectiveEnrollment): Promise<string> {
  return `${(await sha256(endpoint)).slice(0, ENDPOINT_DIGITS)}.${token_digest}`;
}

/** The digest of the token in what `enrollmentId` gave. */
export function tokenDigestIn(enrollment_id: string): string {
  return enrollment_id.slice(ENDPOINT_DIGITS + 1);
}
