import { describe, expect, it } from 'vitest';
import { LITTLE_BUFFERED_BYTES, Outbox, type OutgoingAnswer } from '../../../src/relay/outbox';

const nobody = (): boolean => false;

function answer(id: string, changes: Partial<OutgoingAnswer> = {}): OutgoingAnswer {
  return {
    id,
    content: `content of ${id}`,
    socket: 1,
    text: `answer ${id}`,
    bytes: 100,
    handshake: null,
    ...changes,
  };
}

/** Hands over all that may go, as if the socket sent it at once. */
function drain(outbox: Outbox): string[] {
  const gone: string[] = [];
  for (let next = outbox.peek(0); next; next = outbox.peek(0)) {
    gone.push(next.id);
    outbox.handed();
  }
  outbox.sent(0);
  return gone;
}

describe('wire.md §5: an answer that could not be sent is kept', () => {
  it('waits for a socket', () => {
    const outbox = new Outbox();
    outbox.put(answer('a'));
    outbox.put(answer('b'));
    expect(outbox.peek(0)).toBeNull();
    outbox.opened(1);
    expect(drain(outbox)).toEqual(['a', 'b']);
    expect(outbox.busy).toBe(false);
  });

  it('comes back, in order, when the socket closed before it had left; what had left does not', () => {
    const outbox = new Outbox();
    outbox.opened(1);
    outbox.handedOther(10);
    for (const id of ['a', 'b', 'c']) outbox.put(answer(id));
    for (let number = 0; number < 3; number += 1) {
      outbox.peek(0);
      outbox.handed();
    }
    outbox.put(answer('d'));
    // 310 bytes were handed over, 150 of them had not left: all of c and half of b.
    outbox.closed(150, nobody);
    outbox.opened(2);
    expect(drain(outbox)).toEqual(['b', 'c', 'd']);
  });

  it('does not come back when its id is under way again', () => {
    const outbox = new Outbox();
    outbox.opened(1);
    outbox.put(answer('a'));
    outbox.peek(0);
    outbox.handed();
    outbox.closed(100, (id) => id === 'a');
    expect(outbox.busy).toBe(false);
  });

  it('is known by its id while it waits, so that a resend need not run', () => {
    const outbox = new Outbox();
    outbox.put(answer('a', { content: null }));
    expect(outbox.kept('a')).toBeUndefined();
    outbox.put(answer('a'));
    expect(outbox.kept('a')?.content).toBe('content of a');
    outbox.opened(1);
    drain(outbox);
    expect(outbox.kept('a')).toBeUndefined();
  });

  it('is gone when another enrollment rules', () => {
    const outbox = new Outbox();
    outbox.put(answer('a'));
    outbox.clear();
    outbox.opened(2);
    expect(drain(outbox)).toEqual([]);
  });
});

describe('wire.md §8: a kept answer that a resend already delivered is not sent twice on the same socket', () => {
  it('drops the kept one', () => {
    const outbox = new Outbox();
    outbox.opened(2);
    outbox.put(answer('a', { socket: 2 }));
    expect(drain(outbox)).toEqual(['a']);
    outbox.put(answer('a', { socket: 1 }));
    expect(drain(outbox)).toEqual([]);
    // A resend by this very socket is answered each time.
    outbox.put(answer('a', { socket: 2 }));
    expect(drain(outbox)).toEqual(['a']);
  });

  it('a conflict is no delivery, and counts only on the socket where it was', () => {
    const outbox = new Outbox();
    outbox.opened(2);
    outbox.put(answer('a', { socket: 2, content: null }));
    drain(outbox);
    outbox.put(answer('a', { socket: 1 }));
    expect(drain(outbox)).toEqual(['a']);
    outbox.closed(0, nobody);
    outbox.opened(3);
    outbox.put(answer('a', { socket: 1 }));
    expect(drain(outbox)).toEqual(['a']);
  });
});

describe('wire.md §5 rule 1: what is buffered is in front of the next ping', () => {
  it('the next answer waits until little is buffered', () => {
    const outbox = new Outbox();
    outbox.opened(1);
    outbox.put(answer('a'));
    expect(outbox.peek(LITTLE_BUFFERED_BYTES)).toBeNull();
    expect(outbox.peek(LITTLE_BUFFERED_BYTES - 1)?.id).toBe('a');
  });

  it('is looked at until everything has left', () => {
    const outbox = new Outbox();
    outbox.opened(1);
    outbox.put(answer('a'));
    outbox.peek(0);
    outbox.handed();
    outbox.sent(1);
    expect(outbox.busy).toBe(true);
    outbox.sent(0);
    expect(outbox.busy).toBe(false);
  });
});
