import { describe, expect, it } from 'vitest';
import { Turns } from '../../../src/tools/turns';
import { turn as next } from './async-clock';

describe('turns', () => {
  it('one after the other, in the order in which they were taken; another key does not wait', async () => {
    const turns = new Turns<number>();
    const came: string[] = [];
    const take = (key: number, name: string) => {
      const turn = turns.take(key);
      turn.come.then(() => came.push(name));
      return turn;
    };
    const first = take(1, 'first');
    const second = take(1, 'second');
    take(2, 'elsewhere');
    await next();
    expect(came).toEqual(['first', 'elsewhere']);
    first.end();
    await next();
    expect(came).toEqual(['first', 'elsewhere', 'second']);
    second.end();
    take(1, 'third');
    await next();
    expect(came.at(-1)).toBe('third');
  });

  it('who gives up before its turn lets nobody pass the one who still has theirs', async () => {
    const turns = new Turns<number>();
    const first = turns.take(1);
    turns.take(1).end();
    let came = false;
    turns.take(1).come.then(() => {
      came = true;
    });
    await next();
    expect(came).toBe(false);
    first.end();
    await next();
    expect(came).toBe(true);
  });
});
