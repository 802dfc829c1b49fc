import { describe, expect, it } from '@jest/globals';
import { Waiting, type Waiter, type WaitingBounds } from '../../src/transport/waiting.ts';

interface Named extends Waiter {
  readonly name: string;
  heldBytes: number;
}

/** A list, the names of what it has dropped, and what adds one: `ann 1` is of the client `ann`. */
function listOf(bounds: WaitingBounds) {
  const dropped: string[] = [];
  const waiting = new Waiting<Named>(bounds);
  const add = (name: string, bytes = 0): Named => {
    const [client = ''] = name.split(' ');
    const one = { name, client, heldBytes: 0, drop: () => dropped.push(name) };
    waiting.add(one);
    hold(one, bytes);
    return one;
  };
  const hold = (one: Named, bytes: number): void => {
    one.heldBytes += bytes;
    waiting.held(one, bytes);
  };
  return { waiting, dropped, add, hold };
}

describe('what waits for clients', () => {
  it('is bounded for each client, whose oldest is dropped', () => {
    const { waiting, dropped, add } = listOf({ mostOfClient: 2, most: 100 });
    for (const name of ['ann 1', 'bob 1', 'ann 2', 'ann 3', 'ann 4']) add(name);

    expect(dropped).toEqual(['ann 1', 'ann 2']);
    expect(waiting.size).toBe(3);
  });

  it('is bounded for all together, and then the client that has the most loses its oldest', () => {
    const { dropped, add } = listOf({ mostOfClient: 100, most: 4 });
    for (const name of ['bob 1', 'ann 1', 'ann 2', 'ann 3', 'eve 1', 'eve 2']) add(name);

    expect(dropped).toEqual(['ann 1', 'ann 2']);
  });

  it('is bounded in bytes in the same way', () => {
    const { dropped, add, hold } = listOf({ mostOfClient: 100, most: 100, mostBytesOfClient: 10, mostBytes: 18 });
    const first = add('ann 1', 6);
    add('bob 1', 5);
    add('ann 2', 4);
    hold(first, 1);
    add('eve 1', 10);

    expect(dropped).toEqual(['ann 1', 'eve 1']);
  });

  it('is free of what has ended, once', () => {
    const { waiting, dropped, add } = listOf({ mostOfClient: 2, most: 2, mostBytes: 10 });
    const one = add('ann 1', 10);
    waiting.delete(one);
    waiting.delete(one);
    add('ann 2', 10);
    add('bob 1');

    expect(dropped).toEqual([]);
    expect(waiting.size).toBe(2);
  });
});
