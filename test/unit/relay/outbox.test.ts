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
    outbox.opened(1, []);
    expect(drain(outbox)).toEqual(['a', 'b']);
    expect(outbox.busy).toBe(false);
  });

  it('comes back, in order, when the socket closed before it had left; what had left does not', () => {
    const outbox = new Outbox();
    outbox.opened(1, []);
    outbox.handedOther(10);
    for (const id of ['a', 'b', 'c']) outbox.put(answer(id));
    for (let number = 0; number < 3; number += 1) {
      outbox.peek(0);
      outbox.handed();
    }
    outbox.put(answer('d'));
    // 310 bytes were handed over, 150 of them had not left: all of c and half of b.
    outbox.closed(150, nobody);
    outbox.opened(2, []);
    expect(drain(outbox)).toEqual(['b', 'c', 'd']);
  });

  it('does not come back when its id is under way again', () => {
    const outbox = new Outbox();
    outbox.opened(1, []);
    outbox.put(answer('a'));
    outbox.peek(0);
    outbox.handed();
    outbox.closed(100, (id, content) => id === 'a' && content === 'content of a');
    expect(outbox.busy).toBe(false);
  });

  it('is known while it waits, so that a resend need not be asked for', () => {
    const outbox = new Outbox();
    outbox.put(answer('a'));
    expect(outbox.keeps('a', 'content of a')).toBe(true);
    expect(outbox.keeps('a', 'something else')).toBe(false);
    outbox.opened(1, []);
    drain(outbox);
    expect(outbox.keeps('a', 'content of a')).toBe(false);
  });

  it('is gone when another enrollment rules', () => {
    const outbox = new Outbox();
    outbox.put(answer('a'));
    outbox.clear();
    outbox.opened(2, []);
    expect(drain(outbox)).toEqual([]);
  });
});

describe('wire.md §8: a kept answer that a resend already delivered is not sent twice on the same socket', () => {
  it('drops the kept one', () => {
    const outbox = new Outbox();
    outbox.opened(2, ['a']);
    outbox.put(answer('a', { socket: 2 }));
    expect(drain(outbox)).toEqual(['a']);
    outbox.put(answer('a', { socket: 1 }));
    expect(drain(outbox)).toEqual([]);
    // A resend by this very socket is answered each time.
    outbox.put(answer('a', { socket: 2 }));
    expect(drain(outbox)).toEqual(['a']);
  });

  it('but not when something else was answered under its id, or by another socket', () => {
    const outbox = new Outbox();
    outbox.opened(2, ['a']);
    outbox.put(answer('a', { socket: 2, content: null }));
    outbox.put(answer('a', { socket: 2, content: 'other' }));
    drain(outbox);
    outbox.put(answer('a', { socket: 1 }));
    expect(drain(outbox)).toEqual(['a']);
    outbox.closed(0, nobody);
    outbox.opened(3, ['a']);
    outbox.put(answer('a', { socket: 1 }));
    expect(drain(outbox)).toEqual(['a']);
  });
});

describe('wire.md §5 rule 1: what is buffered is in front of the next ping', () => {
  it('the next answer waits until little is buffered', () => {
    const outbox = new Outbox();
    outbox.opened(1, []);
    outbox.put(answer('a'));
    expect(outbox.peek(LITTLE_BUFFERED_BYTES)).toBeNull();
    expect(outbox.peek(LITTLE_BUFFERED_BYTES - 1)?.id).toBe('a');
  });

  it('is looked at until everything has left', () => {
    const outbox = new Outbox();
    outbox.opened(1, []);
    outbox.put(answer('a'));
    outbox.peek(0);
    outbox.handed();
    outbox.sent(1);
    expect(outbox.busy).toBe(true);
    outbox.sent(0);
    expect(outbox.busy).toBe(false);
  });
});
