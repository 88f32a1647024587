/** The key of the signed package: given by the environment, or made once and kept out of the repository. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { newSigningKey } from './crx';

export interface SigningKey {
  pem: string;
  from: 'environment' | 'file' | 'new';
}

/** `given` is the PEM or the path of a file with it; without it, that of `own_path`, made when missing. */
export function signingKey(given: string | undefined, own_path: string): SigningKey {
  if (given) {
    const pem = given.includes('-----BEGIN') ? given : readFileSync(given, 'utf8');
    return { pem, from: 'environment' };
  }
  if (existsSync(own_path)) return { pem: readFileSync(own_path, 'utf8'), from: 'file' };
  const pem = newSigningKey();
  mkdirSync(dirname(own_path), { recursive: true });
  // Nobody else may read it, and an existing one is never written over: the id would be lost with it.
  writeFileSync(own_path, pem, { mode: 0o600, flag: 'wx' });
  return { pem, from: 'new' };
}
