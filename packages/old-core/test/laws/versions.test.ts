import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { Redis } from 'ioredis';
import {
  fixedWindow,
  memoryStore,
  type Limit,
  type Part,
  type Policy,
  type StoreAnswer,
  type StoreRequest,
} from '@sluice/old-core';
import { evaluate, namePolicies, type KeyState } from '@sluice/old-core/spi';
import {
  cases,
  fakeClock,
  seeded,
  startRedis,
  testGeneral,
  testSeed,
  virtualRedisStore,
  type Random,
  type RedisServer,
} from '@sluice/testkit';
import { references } from './models/index.ts';

const seed = testSeed(20_261_122);
const START_MS = 4_102_444_800_000; // 2100: no expiry of these tests lies in the past
const CARRY_OVERS = ['keep', 'reset'] as const;
const OPS = [
  'consume',
  'consume',
  'consume',
  'consume',
  'peek',
  'refund',
  'charge',
  'reset',
  'block',
  'unblock',
] as const;
const anyPolicy = fc.oneof(...references.map(({ policies }) => policies));

let server: RedisServer;
let redis: Redis;

beforeAll(async () => {
  server = await startRedis();
  redis = new Redis(server.storeUrl);
  const admin = new Redis(server.url);
  await admin.script('LOAD', testGeneral().source);
  admin.disconnect();
});
afterAll(async () => {
  redis.disconnect();
  await server.stop();
});

/** The limit at `version` of a history, which knows some of the earlier ones. */
function limitAt(history: readonly Policy[], version: number, random: Random): Limit {
  const named = history.map((policy) => namePolicies({ ...policy, name: 'orders' }, 'orders'));
  const earlier = new Map<
    number,
    { policies: Limit['policies']; carryOver: (typeof CARRY_OVERS)[number] } | 'unknown'
  >();
  for (let before = 1; before < version; before++) {
    if (random.percent(10)) continue;
    const carryOver = random.pick(CARRY_OVERS);
    earlier.set(
      before,
      random.percent(8) ? 'unknown' : { policies: named[before - 1] as Limit['policies'], carryOver },
    );
  }
  return {
    policies: named[version - 1] as Limit['policies'],
    keySuffix: ':orders:2m',
    policyVersion: { version, earlier },
  };
}

function requestOf(random: Random, parts: readonly [Part, ...Part[]], atMs: number): StoreRequest {
  const [part] = parts;
  const op = random.pick(OPS);
  switch (op) {
    case 'peek':
      return { op: 'peek', parts };
    case 'refund':
    case 'charge': {
      const windowMs = part.limit.policies[0]?.windowMs ?? 0;
      return { op, part, chargedUntilMs: [atMs + random.pick([windowMs, Math.floor(windowMs / 2)])] };
    }
    case 'reset':
      return { op: 'reset', part };
    case 'block':
      return { op: 'block', part, durationMs: random.integer(1, 2000) };
    case 'unblock':
      return { op: 'unblock', part };
    default:
      return { op: 'consume', parts };
  }
}

/** The kernels, over states that are never forgotten: in virtual time Redis forgets nothing either. */
function kernels(clock: { now(): number }): { perform(requests: readonly StoreRequest[]): readonly StoreAnswer[] } {
  const keys = new Map<string, KeyState>();
  return {
    perform: (requests) =>
      requests.map((request) => {
        const parts = 'parts' in request ? request.parts : [request.part];
        const states = parts.map(({ subject, limit }) => {
          const state = keys.get(subject + limit.keySuffix) ?? { blockedUntilMs: 0, states: [undefined] };
          keys.set(subject + limit.keySuffix, state);
          return state;
        });
        return evaluate(request, states, clock.now()).answer;
      }),
  };
}

const paths = [
  { name: 'the kernels', storeOf: kernels, longestMs: 1e7 },
  // Less than the minute after which the memory store drops expired keys.
  { name: 'the memory store', storeOf: (clock: { now(): number }) => memoryStore({ clock }), longestMs: 300 },
];

let holders = 1;

describe('keys whose policy changes while they live', () => {
  it.each(paths)('are converted alike by $name and in Redis, whatever becomes of the policy', async (lane) => {
    const stale = new Set<boolean>();
    const histories = fc.sample(fc.array(anyPolicy, { minLength: 5, maxLength: 5 }), { seed, numRuns: cases(20) });
    for (const [number, history] of histories.entries()) {
      const random = seeded(seed + number);
      const clock = fakeClock(START_MS);
      const local = lane.storeOf(clock);
      const store = virtualRedisStore(redis, clock, { prefix: 'sluice' }, 0);
      const plain: Limit = { policies: namePolicies(history[0], 'plain'), keySuffix: ':plain:2x' };
      const expected: (readonly StoreAnswer[])[] = [];
      const pending: Promise<unknown>[] = [];

      for (let step = 0, newest = 1; step < 150; step++) {
        if (random.percent(4)) newest = Math.min(newest + 1, history.length);
        const limit = history[newest - 1] as Policy;
        const windowMs = namePolicies({ ...limit, name: 'x' }, 'x')[0]?.windowMs ?? 1000;
        clock.atMs += random.percent(5)
          ? -random.integer(0, 500)
          : random.pick([0, 0, 1, random.integer(0, 100), random.integer(0, Math.min(windowMs, lane.longestMs))]);
        const partOf = (subject: string): Part => {
          const version = random.percent(25) ? random.integer(1, newest) : newest;
          return {
            limit: limitAt(history, version, random),
            subject: `${lane.name.length.toString()}-${String(number)}-${subject}`,
            cost: random.pick([1, 1, 2, random.integer(1, 'limit' in limit ? limit.limit : limit.capacity)]),
            holder: String(holders++),
          };
        };
        const batch = Array.from({ length: random.integer(1, 3) }, () => {
          const parts: [Part, ...Part[]] = [partOf(random.pick(['a', 'b']))];
          // Within a request a limit has one version, which is resolved once.
          if (random.percent(20)) parts.push({ ...parts[0], ...(random.percent(70) ? partOf('c') : {}) });
          if (random.percent(20))
            parts.push({
              limit: plain,
              subject: `${lane.name.length.toString()}-${String(number)}-a`,
              cost: 1,
              holder: String(holders++),
            });
          return requestOf(random, parts, clock.atMs);
        });
        const answers = local.perform(batch);
        for (const answer of answers) stale.add(answer.stale !== undefined);
        expected.push(answers);
        pending.push(Promise.resolve(store.perform(batch)));
      }

      expect(await Promise.all(pending)).toEqual(expected);
    }
    expect(stale).toEqual(new Set([true, false]));
  });

  it.each(paths)('lose an expired block with their old numbers, by $name and in Redis', async ({ name, storeOf }) => {
    const clock = fakeClock(START_MS);
    const local = storeOf(clock);
    const store = virtualRedisStore(redis, clock, { prefix: 'sluice' }, 0);
    const history = [5, 2].map((limit) => fixedWindow({ limit, window: '1h' }));
    const named = history.map((policy) => namePolicies({ ...policy, name: 'orders' }, 'orders'));
    const partOf = (version: number, cost: number): Part => ({
      subject: `blocked, ${name}`,
      cost,
      limit: {
        policies: named[version - 1] as Limit['policies'],
        keySuffix: ':orders:2m',
        policyVersion: {
          version,
          earlier: new Map([[1, { policies: named[0] as Limit['policies'], carryOver: 'keep' }]]),
        },
      },
    });
    const both = async (request: StoreRequest): Promise<readonly unknown[]> => [
      ...local.perform([request]),
      ...(await store.perform([request])),
    ];

    await both({ op: 'consume', parts: [partOf(1, 1)] });
    await both({ op: 'block', part: partOf(1, 0), durationMs: 10 });
    clock.atMs += 11;
    await both({ op: 'consume', parts: [partOf(2, 9)] }); // denied, and converted
    clock.atMs -= 6;
    const [here, there] = await both({ op: 'consume', parts: [partOf(2, 1)] });

    expect(here).toMatchObject({ parts: [{ blocked: false, policies: [{ remaining: 0 }] }] });
    expect(here).toEqual(there);
  });
});
