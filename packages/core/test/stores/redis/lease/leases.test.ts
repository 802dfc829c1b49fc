import { beforeEach, describe, expect, it } from '@jest/globals';
import { fixedWindow, memoryStore, tokenBucket, type Policy } from '@sluice/core';
import { Leases, type LeasePort } from '../../../../src/stores/redis/lease/leases.ts';
import { keySuffixOf, namePolicies } from '@sluice/core/spi';
import { leasedPolicy } from '../../../../src/engine/lease-policy.ts';

const START_MS = 1_795_262_400_000;
const MIDNIGHT_MS = 1_795_305_600_000;
const MAX_AGE_MS = 500;
const DAY = fixedWindow({ limit: 1_000_000, window: '1d', align: 'clock' });

/** A call that was sent, and what answers it. */
interface Sent {
  readonly count: number;
  readonly sentMs: number;
  readonly answer: (atMs?: number) => Promise<void>;
  readonly fail: () => Promise<void>;
}

let nowMs: number;
let sent: Sent[];
let returned: { cost: number; chargedUntilMs: readonly number[] }[];
let due: (() => void)[];
beforeEach(() => {
  [nowMs, sent, returned, due] = [1000, [], [], []];
});

/** Everything that was resolved goes on. */
async function settle(): Promise<void> {
  for (let i = 0; i < 6; i++) await Promise.resolve();
}

/** Leases with clocks that go by hand, on a store that has all there is. */
function scene(policy: Policy = DAY) {
  const named = namePolicies(policy, 'hot').map((each) => leasedPolicy(each, MAX_AGE_MS));
  const limit = { policies: named, keySuffix: keySuffixOf('hot', named) };
  const port: LeasePort = {
    timeoutMs: 100,
    inBackground: () => undefined,
    request: (_limit, _subject, count) =>
      new Promise((resolve, reject) => {
        const sentMs = nowMs;
        const key = { blockedUntilMs: 0, states: named.map(() => undefined) };
        sent.push({
          ...{ count, sentMs },
          answer: (atMs = START_MS + sentMs) => {
            resolve({ atMs, sentMs, key });
            return settle();
          },
          fail: () => {
            reject(new Error('late'));
            return settle();
          },
        });
      }),
    giveBack: (requests) => {
      for (const request of requests) {
        if (request.op === 'refund')
          returned.push({ cost: request.part.cost, chargedUntilMs: request.chargedUntilMs ?? [] });
      }
      return Promise.resolve();
    },
  };
  const time = {
    monotonicMs: () => nowMs,
    dateMs: () => START_MS + nowMs,
    after: (_ms: number, act: () => void) => {
      due.push(act);
      return () => undefined;
    },
  };
  const leases = new Leases(MAX_AGE_MS, memoryStore(), port, time);
  /** Asks for so many units, one by one, and answers how many came from a slice. */
  const ask = (units: number): number => {
    let served = 0;
    for (let i = 0; i < units; i++) {
      if (leases.consume(limit, 'key', 1) !== undefined) served++;
      else leases.recordMiss(limit, 'key', 1);
    }
    return served;
  };
  return { leases, limit, ask };
}

/** What a timer does, at its time. */
function sweep(): void {
  for (const act of due.splice(0)) act();
}

describe('a key', () => {
  it('is leased after eight requests within a tenth of a second, and not after seven each', () => {
    const { ask } = scene();

    for (let i = 0; i < 70; i++, nowMs += 15) ask(1);
    expect(sent).toHaveLength(0);
    ask(8);

    expect(sent.map(({ count }) => count)).toEqual([16]);
  });

  it('gets larger slices as long as it uses them, each asked for when half of the last is spent, and one at a time', async () => {
    const { ask } = scene();
    ask(8);

    for (let i = 0; i < 4; i++) {
      await sent[i]?.answer();
      nowMs += 1;
      ask((sent[i]?.count as number) - 1);
    }

    expect(sent.map(({ count }) => count)).toEqual([16, 64, 256, 1024, 4096]);
  });

  it('gets no more than it asks for in a tenth of a second', async () => {
    const { ask } = scene();
    ask(8);
    for (let i = 0; i < 200; i++) {
      nowMs += 10;
      await sent.at(-1)?.answer();
      ask(10);
    }

    expect(sent.at(-1)?.count).toBeGreaterThan(80);
    expect(sent.at(-1)?.count).toBeLessThan(130);
  });

  it('never gets more than half of what is left', async () => {
    const { ask } = scene(fixedWindow({ limit: 100, window: '1d' }));
    ask(8);
    await sent[0]?.answer();
    nowMs += 1;
    ask(15);

    expect(sent.map(({ count }) => count)).toEqual([16, 42]);
  });
});

describe('a slice', () => {
  it('that comes when its time has ended serves no request, and goes back', async () => {
    const { ask } = scene();
    ask(8);
    nowMs += 600;

    await sent[0]?.answer(START_MS + 1000);

    expect(ask(1)).toBe(0);
    expect(returned).toEqual([{ cost: 16, chargedUntilMs: [MIDNIGHT_MS] }]);
  });

  it('whose call failed is not asked for again before it would be over', async () => {
    const { ask } = scene();
    ask(8);
    await sent[0]?.fail();

    nowMs += 499;
    ask(100);
    expect(sent).toHaveLength(1);
    nowMs += 1;
    ask(100);

    expect(sent).toHaveLength(2);
  });

  it('that was on its way when its key was dropped is lost', async () => {
    const { leases, limit, ask } = scene();
    ask(8);
    leases.drop('key', limit.keySuffix);

    await sent[0]?.answer();

    expect(ask(1)).toBe(0);
    expect(returned).toEqual([]);
  });

  it('that was on its way when all was closed goes back when it comes', async () => {
    const { leases, ask } = scene();
    ask(8);
    leases.close();

    await sent[0]?.answer();

    expect(returned.map(({ cost }) => cost)).toEqual([16]);
  });

  it('goes back when no request has come for a while', async () => {
    const { ask } = scene();
    ask(8);
    await sent[0]?.answer();
    ask(3);

    sweep();
    expect(returned).toEqual([]);
    sweep();

    expect(returned.map(({ cost }) => cost)).toEqual([13]);
    expect(ask(1)).toBe(0);
  });

  it('of a bucket goes back without what that may have refilled until it arrives', async () => {
    const { leases, ask } = scene(tokenBucket({ capacity: 1000, refill: 50, every: '1s' }));
    ask(8);
    await sent[0]?.answer();
    nowMs += 40;

    leases.close();

    // Held for 40 ms and one more, sent within 100 more: at 50 a second that is 7.1 units, and a part of one is one.
    expect(returned.map(({ cost }) => cost)).toEqual([8]);
  });
});
