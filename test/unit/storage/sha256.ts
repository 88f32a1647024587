import { createHash } from 'node:crypto';

/** Lowercase hex, by another implementation than the code under test uses. */
export async function sha256Of(content: string | Uint8Array): Promise<string> {
  return createHash('sha256').update(content).digest('hex');
}
