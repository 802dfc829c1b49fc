import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import {
  memoryStore,
  slidingCounter,
  slidingLog,
  slidingWindow,
  fixedWindow,
  leakyBucket,
  tokenBucket,
  type Policy,
} from '@sluice/core';
import { LimiterCore } from '@sluice/core/spi';
import { fakeClock, type FakeClock } from '@sluice/core/testing';
import { cases, testSeed, useClosing } from '@sluice/testkit';
import { Access } from '../../src/access.ts';
import { makeOperations, runOperation, type Operation } from '../../src/native/operations.ts';
import type { Service } from '../../src/service.ts';

const LIMIT = 10;
const WINDOW_MS = 60_000;
/** The beginning of a block of every window: what is taken then is given back last. */
const START_MS = 1_000_000 * WINDOW_MS;
/** Each has the same limit and window. */
const numbers = { limit: LIMIT, window: WINDOW_MS };
const bucket = { capacity: LIMIT, refill: LIMIT, every: WINDOW_MS };
const POLICIES: Readonly<Record<string, Policy>> = {
  window: fixedWindow(numbers),
  sliding: slidingWindow(numbers),
  bucket: tokenBucket(bucket),
  overdraft: tokenBucket({ ...bucket, overdraft: 5 }),
  leaky: leakyBucket({ ...numbers, maxDelay: 10_000 }),
  log: slidingLog(numbers),
  counter: slidingCounter(numbers),
};
const NAMES = [...Object.keys(POLICIES), 'window and bucket'];

const closing = useClosing();

type Call = (name: string, body: object) => Promise<unknown>;

/** Calls operations of `/v1` as a client without the token, without a connection. */
function caller(clock: FakeClock): Call {
  const core = closing(new LimiterCore({ name: 'service', store: memoryStore({ clock }), shared: true }));
  core.claim();
  const limits = new Map(Object.entries(POLICIES).map(([name, policy]) => [name, core.limitFor(policy, name)]));
  const service = { core, configuration: { limits }, access: new Access('token-of-the-tests') };
  const operations = makeOperations(service as unknown as Service);
  return (name, body) => runOperation(name, operations[name] as Operation, body, false);
}

/** Units at once that a client gets who settles what it has reserved at 0, and consumes what that gives back. */
async function countAtOnce(call: Call, keys: object, reservations: readonly string[]): Promise<number> {
  let consumed = 0;
  const consumeAll = async (): Promise<void> => {
    while (((await call('consume', { keys })) as { readonly allowed: boolean }).allowed) consumed++;
  };
  await consumeAll();
  for (const reservation of reservations) {
    await call('settle', { reservation, actual: 0 }).catch((error: unknown) => {
      expect(error).toMatchObject({ status: 409 }); // older than ten minutes
    });
    await consumeAll();
  }
  return consumed;
}

describe('what a client without the token reserves and does not use', () => {
  const hoarding = fc.array(
    fc.record({ ms: fc.integer({ min: 0, max: WINDOW_MS }), estimate: fc.integer({ min: 1, max: LIMIT }) }),
    { minLength: 1, maxLength: 12 },
  );
  const always = Array.from({ length: 9 }, () => ({ ms: WINDOW_MS, estimate: LIMIT }));

  it.each(NAMES)('gives back at once no more than two windows of %s have', async (name) => {
    const keys = Object.fromEntries(name.split(' and ').map((limit) => [limit, 'hoarder']));
    const max = 2 * (await countAtOnce(caller(fakeClock(START_MS)), keys, []));

    await fc.assert(
      fc.asyncProperty(hoarding, async (steps) => {
        const clock = fakeClock(START_MS);
        const call = caller(clock);
        const reservations: string[] = [];
        for (const { ms, estimate } of steps) {
          clock.advance(ms);
          const { reservation } = (await call('reserve', { keys, estimate })) as { reservation: string | null };
          if (reservation !== null) reservations.push(reservation);
        }

        expect(await countAtOnce(call, keys, reservations)).toBeLessThanOrEqual(max);
      }),
      { seed: testSeed(2), numRuns: cases(40), examples: [[always]] },
    );
  });
});

it.each(Object.keys(POLICIES))(
  'gives back nothing of %s after a reset: what is used then was taken by others',
  async (name) => {
    const clock = fakeClock(START_MS);
    const call = caller(clock);
    const keys = { [name]: 'victim' };
    const { reservation } = (await call('reserve', { keys, estimate: 1 })) as { reservation: string };

    await call('reset', { keys });
    await call('consume', { keys });
    await call('settle', { reservation, actual: 0 });

    expect(await call('peek', { keys })).toMatchObject({ used: 1 });
  },
);
