import { describe, test } from 'vitest';
import { FakeDisk } from './fake-handles';
import { HANDLE_CONTRACT } from './handle-contract';

describe.each(['browser', 'folder'] as const)('the fake of a %s keeps the contract of handles', (kind) => {
  test.each(HANDLE_CONTRACT.filter(({ only }) => only === undefined || only === kind))(
    '$name',
    async ({ run }) => {
      await run(new FakeDisk({ kind }).root());
    },
  );
});
