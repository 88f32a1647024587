/** The key of the signed package: given by the environment, or made once and kept out of the repository. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { newSigningKey } from './crx';

export interface SigningKey {
  pem: string;
  from: 'environment' | 'file' | 'new';
}

/**
 * `given` is the PEM or the path of a file with it; without it, that of `own_path`, made when missing. Throws
 * when it is given but empty, as a secret is that a build server does not have: a new key is a new extension.
 */
export function signingKey(given: string | undefined, own_path: string): SigningKey {
  if (given !== undefined) {
    if (given.trim() === '') throw new Error('PACKAGE_KEY is set but empty. Unset it to have a key made.');
    return { pem: given.includes('-----BEGIN') ? given : readKey(given), from: 'environment' };
  }
  if (existsSync(own_path)) return { pem: readFileSync(own_path, 'utf8'), from: 'file' };
  const pem = newSigningKey();
  mkdirSync(dirname(own_path), { recursive: true });
  // Nobody else may read it, and an existing one is never written over: the id would be lost with it.
  writeFileSync(own_path, pem, { mode: 0o600, flag: 'wx' });
  return { pem, from: 'new' };
}

function readKey(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    // Never quoted: it may be a key in a form that is not taken.
    throw new Error('PACKAGE_KEY is neither a key in PEM nor the path of a file that can be read.');
  }
}
