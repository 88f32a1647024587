/** `unseal_path`: lifts the seal of exactly this path; not sealed is fine. */
import { requirePath } from '../paths';
import { type Mode, need } from './mode';

export const unsealPath: Mode = async (session, transaction, input) => {
  const path = need(input, 'path');
  requirePath(path, 'root_allowed');
  const lifted = session.record.seals.filter((seal) => seal.path === path);
  if (lifted.length > 0) {
    session.record.seals = session.record.seals.filter((seal) => seal.path !== path);
    const vaults = lifted.flatMap((seal) => (seal.vault === null ? [] : [seal.vault]));
    await transaction.finish([session.writeRecord()], vaults);
  }
  return {};
};
