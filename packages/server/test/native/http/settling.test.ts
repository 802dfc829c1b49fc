import { afterEach, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { memoryStore, redisStore, type Store } from '@sluice/old-core';
import { cases, fakeClock, testSeed, useRedis, type FakeClock } from '@sluice/testkit';
import { Operations, type Operation } from '../../../src/native/http/operations.ts';
import { serveHttp, type HttpService } from './http-service.ts';

const LIMIT = 10;
const WINDOW_MS = 60_000;
/** The beginning of a block of every window: what is taken then is given back last. */
const START_MS = 1_000_000 * WINDOW_MS;
/** Each limit has the same limit and window. */
const LIMITS = `
limits:
  window: { fixedWindow: { limit: 10, window: 1m } }
  sliding: { slidingWindow: { limit: 10, window: 1m } }
  bucket: { tokenBucket: { capacity: 10, refill: 10, every: 1m } }
  overdraft: { tokenBucket: { capacity: 10, refill: 10, every: 1m, overdraft: 5 } }
  leaky: { leakyBucket: { limit: 10, window: 1m, maxDelay: 10s } }
  log: { slidingLog: { limit: 10, window: 1m } }
  counter: { slidingCounter: { limit: 10, window: 1m } }
`;
const NAMES = ['window', 'sliding', 'bucket', 'overdraft', 'leaky', 'log', 'counter', 'window and bucket'] as const;

/** A key of each limit that a name names. */
const keysOf = (name: string, key: string): object =>
  Object.fromEntries(name.split(' and ').map((limit) => [limit, key]));

const redis = useRedis();
const running: HttpService[] = [];
afterEach(async () => {
  await Promise.all(running.splice(0).map((service) => service.close()));
});

/** A service with a token, as clients without the token reach it. */
async function serve(clock: FakeClock): Promise<HttpService> {
  const service = await serveHttp(LIMITS, {
    store: memoryStore({ clock }),
    isPrivate: false,
    token: 'token-of-the-tests',
  });
  running.push(service);
  return service;
}

interface Decided {
  readonly allowed: boolean;
  readonly retryAfterMs: number | null;
}

/** Calls an operation of `/v1` as a client without the token, without a connection. */
async function caller(clock: FakeClock): Promise<(name: string, body: object) => Promise<unknown>> {
  const operations = new Operations((await serve(clock)).service);
  return (name, body) => operations.run(operations.find(name)?.['POST'] as Operation, body, { isTrusted: false });
}
type Call = Awaited<ReturnType<typeof caller>>;

async function retryAfterMs(call: Call, keys: object): Promise<number> {
  const { allowed, retryAfterMs } = (await call('peek', { keys })) as Decided;
  return allowed ? 0 : (retryAfterMs ?? Infinity);
}

interface Reserved {
  readonly reservation: string | null;
}

async function reserve({ post }: HttpService, name: string, estimate: number): Promise<string | null> {
  return ((await post('reserve', { keys: { [name]: 'victim' }, estimate })).body as Reserved).reservation;
}

/**
 * The longest denial that consuming alone causes: by a client that takes some units, and then all that it can, in costs
 * as large as possible.
 */
async function longestByConsuming(keys: object): Promise<number> {
  let longestMs = 0;
  for (let first = 0; first <= LIMIT; first++) {
    const call = await caller(fakeClock(START_MS));
    await call('consume', { keys, cost: first });
    for (let cost = 2 * LIMIT; cost >= 1; cost--) await call('consume', { keys, cost });
    longestMs = Math.max(longestMs, await retryAfterMs(call, keys));
  }
  return longestMs;
}

type Step =
  | { readonly act: 'consume' | 'reserve'; readonly units: number }
  | { readonly act: 'settle'; readonly which: number; readonly units: number }
  | { readonly act: 'wait'; readonly ms: number };

const units = fc.integer({ min: 1, max: 3 * LIMIT });
const steps: fc.Arbitrary<readonly Step[]> = fc.array(
  fc.oneof(
    fc.record({ act: fc.constantFrom('consume' as const, 'reserve' as const), units }),
    fc.record({
      act: fc.constant('settle' as const),
      which: fc.nat(5),
      units: fc.oneof(units, fc.constantFrom(0, 1_000_000)),
    }),
    fc.record({ act: fc.constant('wait' as const), ms: fc.integer({ min: 1, max: WINDOW_MS }) }),
  ),
  { minLength: 3, maxLength: 20 },
);

describe('a client without the token', () => {
  it.each(NAMES)('denies a key of %s for no longer by settling than by consuming, whatever it does', async (name) => {
    const keys = keysOf(name, 'victim');
    const longestMs = await longestByConsuming(keys);

    await fc.assert(
      fc.asyncProperty(steps, async (sequence) => {
        const clock = fakeClock(START_MS);
        const call = await caller(clock);
        const reservations: string[] = [];
        for (const step of sequence) {
          if (step.act === 'wait') clock.advance(step.ms);
          else if (step.act === 'settle') {
            const reservation = reservations[step.which];
            if (reservation === undefined) continue;
            await call('settle', { reservation, actual: step.units }).catch((error: unknown) => {
              expect(error).toMatchObject({ status: 409 }); // older than ten minutes
            });
          } else if (step.act === 'reserve') {
            const { reservation } = (await call('reserve', { keys, estimate: step.units })) as Reserved;
            if (reservation !== null) reservations.push(reservation);
          } else await call('consume', { keys, cost: step.units });

          expect(await retryAfterMs(call, keys)).toBeLessThanOrEqual(longestMs);
        }
        await running.pop()?.close();
      }),
      { seed: testSeed(1), numRuns: cases(120) },
    );
  });

  it('is charged what it used beyond the estimate as far as the limit goes', async () => {
    const service = await serve(fakeClock(START_MS));
    const [first, second] = [await reserve(service, 'window', 2), await reserve(service, 'window', 2)];

    expect((await service.post('settle', { reservation: first, actual: 5 })).status).toBe(204);
    expect(await service.post('peek', { keys: { window: 'victim' } })).toMatchObject({ body: { used: 7 } });
    expect((await service.post('settle', { reservation: second, actual: 50 })).status).toBe(204);
    expect(await service.post('peek', { keys: { window: 'victim' } })).toMatchObject({ body: { used: 10 } });
  });

  it('is charged nothing beyond the estimate after the window of the reservation', async () => {
    const clock = fakeClock(START_MS);
    const service = await serve(clock);
    const reservation = await reserve(service, 'window', 2);
    clock.advance(WINDOW_MS);

    expect((await service.post('settle', { reservation, actual: 9 })).status).toBe(204);
    expect(await service.post('peek', { keys: { window: 'victim' } })).toMatchObject({ body: { used: 0 } });
  });
});

/** Units at once that a client gets who settles what it has reserved at 0, and consumes what that gives back. */
async function atOnce(call: Call, keys: object, reservations: readonly string[]): Promise<number> {
  let consumed = 0;
  const consumeAll = async (): Promise<void> => {
    while (((await call('consume', { keys })) as Decided).allowed) consumed++;
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

  it.each(NAMES)('gives back at once no more than two windows of %s have', async (name) => {
    const keys = keysOf(name, 'hoarder');
    const most = 2 * (await atOnce(await caller(fakeClock(START_MS)), keys, []));

    await fc.assert(
      fc.asyncProperty(hoarding, async (steps) => {
        const clock = fakeClock(START_MS);
        const call = await caller(clock);
        const reservations: string[] = [];
        for (const { ms, estimate } of steps) {
          clock.advance(ms);
          const { reservation } = (await call('reserve', { keys, estimate })) as Reserved;
          if (reservation !== null) reservations.push(reservation);
        }

        expect(await atOnce(call, keys, reservations)).toBeLessThanOrEqual(most);
        await running.pop()?.close();
      }),
      {
        seed: testSeed(2),
        numRuns: cases(40),
        examples: [[Array.from({ length: 9 }, () => ({ ms: WINDOW_MS, estimate: LIMIT }))]],
      },
    );
  });
});

describe('a reservation', () => {
  it.each([2, 0, 7, 100])('that is settled at %i of 2 units settles no more', async (actual) => {
    const clock = fakeClock(START_MS);
    const service = await serve(clock);
    const reservation = await reserve(service, 'window', 2);
    await service.post('settle', { reservation, actual });
    const { used } = (await service.post('peek', { keys: { window: 'victim' } })).body as { used: number };

    for (const later of [0, 2, 9]) {
      expect((await service.post('settle', { reservation, actual: later })).status).toBe(204);
    }
    expect(await service.post('peek', { keys: { window: 'victim' } })).toMatchObject({ body: { used } });
  });

  it.each<[string, () => readonly [Store, Store]]>([
    [
      'memory',
      () => {
        const store = memoryStore();
        return [store, store];
      },
    ],
    ['Redis', () => [redisStore(redis.client, { prefix: 'sluice' }), redisStore(redis.client, { prefix: 'sluice' })]],
  ])('is settled once by two processes that settle it at once, in %s', async (_name, storesOf) => {
    const [one, other] = await Promise.all(
      storesOf().map((store) => serveHttp(LIMITS, { store, isPrivate: false, token: 'token-of-the-tests' })),
    );
    if (one === undefined || other === undefined) throw new Error('two processes');
    running.push(one, other);
    const reservation = await reserve(one, 'window', 4);

    const answers = await Promise.all(
      [one, other, one, other].map((service) => service.post('settle', { reservation, actual: 3 })),
    );

    expect(answers.map(({ status }) => status)).toEqual([204, 204, 204, 204]);
    expect(await one.post('peek', { keys: { window: 'victim' } })).toMatchObject({ body: { used: 3 } });
  });
});
