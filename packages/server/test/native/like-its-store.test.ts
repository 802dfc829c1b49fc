import { afterAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import {
  createLimiter,
  escalate,
  fixedWindow,
  memoryStore,
  slidingLog,
  slidingWindow,
  tokenBucket,
  type Limit,
  type Policy,
  type Store,
  type StoreAnswers,
  type StoreRequest,
} from '@sluice/old-core';
import { isFastPathEligible, keySuffixOf, sourceKeySuffix, namePolicies, shownMemory } from '@sluice/old-core/spi';
import { remoteStore, type RemoteStore } from '@sluice/remote';
import { cases, fakeClock, seeded, testSeed, useRedis, virtualRedisStore, type Random } from '@sluice/testkit';
import { references } from '../../../old-core/test/laws/models/index.ts';
import { PathListeners, serviceOf } from './service.ts';

const listeners = new PathListeners();
const stores: RemoteStore[] = [];
afterAll(async () => {
  await Promise.all(stores.map((store) => store.close()));
  await listeners.close();
});

function over(store: Store): RemoteStore {
  const remote = remoteStore(listeners.urlOf(serviceOf(store)));
  stores.push(remote);
  return remote;
}

const anyPolicy = fc.oneof(...references.map(({ policies }) => policies));

/** Limits with everything that a limit can have. */
function limitsOf(policies: readonly Policy[], random: Random): readonly Limit[] {
  const named = namePolicies(
    policies.map((policy, i) => ({ ...policy, name: `p${String(i)}` })),
    'all',
  );
  const [single] = named;
  const earlier = new Map([[1, { policies: [{ ...single, name: 'x' }], carryOver: random.pick(['keep', 'reset']) }]]);
  const version = { version: random.integer(1, 2), earlier: random.percent(50) ? earlier : new Map([[1, 'unknown']]) };
  const limits = [
    { policies: named, keySuffix: keySuffixOf('all', named) },
    {
      policies: named,
      keySuffix: keySuffixOf('escalated', named),
      escalation: escalate({ after: 2, block: '2s', decay: '1m' }),
    },
    { policies: [single], keySuffix: sourceKeySuffix('managed'), policyVersion: version },
  ] as readonly Limit[];
  return limits.map((limit) => ({ ...limit, fastPathEligible: isFastPathEligible(limit) }));
}

function requestOf(random: Random, limits: readonly Limit[], atMs: number): StoreRequest {
  const partOf = () => {
    const limit = random.pick(limits as [Limit]);
    const holder = random.pick(['1', '27182818284590452353602874713']);
    return { limit, subject: random.pick(['a', 'b', '\ud800', '#x']), cost: random.integer(0, 3), holder };
  };
  const part = partOf();
  const windows = part.limit.policies.map(() => random.pick([0, atMs + 1_000, atMs + 60_000]));
  const chargedUntilMs = random.percent(50) ? { chargedUntilMs: windows } : {};
  const parts = random.percent(70) ? [part] : [part, partOf()];
  return random.pick<StoreRequest>([
    { op: 'consume', parts },
    { op: 'consume', parts },
    { op: 'consume', parts },
    { op: 'peek', parts },
    { op: 'refund', part, ...chargedUntilMs },
    { op: 'refund', part, ...chargedUntilMs, byMs: atMs + random.integer(-1, 1) },
    { op: 'charge', part, ...chargedUntilMs },
    { op: 'release', part },
    { op: 'renew', part },
    { op: 'reset', part },
    { op: 'unblock', part },
    { op: 'block', part, durationMs: random.integer(1, 5_000), reset: random.percent(50) },
    { op: 'heal', part },
    { op: 'heal', part, byMs: atMs },
  ]);
}

describe('a remoteStore', () => {
  it('answers every operation on every limit as the store of its service does', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(anyPolicy, { minLength: 1, maxLength: 3 }), fc.nat(), async (policies, seed) => {
        const random = seeded(seed);
        const clock = fakeClock();
        const direct = shownMemory(memoryStore({ clock }));
        const remote = over(memoryStore({ clock }));
        const limits = limitsOf(policies, random);

        for (let turn = 0; turn < 30; turn++) {
          clock.advance(random.integer(0, 3_000));
          const requests = Array.from({ length: random.integer(1, 4) }, () => requestOf(random, limits, clock.atMs));
          const expected: StoreAnswers | undefined = direct?.perform(requests);

          expect(await remote.perform(requests)).toEqual(
            expected?.map((answer, i) => onTheWire(answer, requests[i] as StoreRequest)),
          );
        }
      }),
      { seed: testSeed(3), numRuns: cases(30) },
    );
  });

  const redis = useRedis();

  it('shows the states of denied requests that its service saw in Redis, long ones too', async () => {
    const clock = fakeClock(Date.now() + 86_400_000);
    const prefixes = ['sluice:one', 'sluice:other'] as const;
    // Without the shift, and with the snapshots that a real clock has.
    const [direct, served] = prefixes.map((prefix) =>
      Object.assign(virtualRedisStore(redis.client, clock, { prefix }, 0), { showsDenied: true }),
    ) as [Store, Store];
    const remote = over(served);
    const policies = [
      slidingLog({ name: 'log', limit: 5, window: '1m' }),
      slidingWindow({ name: 'window', limit: 50, window: '10s' }),
      tokenBucket({ name: 'bucket', capacity: 9, refill: 1, every: '1s', overdraft: 2 }),
    ];
    const [limit] = limitsOf(policies, seeded(1)) as [Limit];
    const request: StoreRequest = { op: 'consume', parts: [{ limit, subject: 'key', cost: 2 }] };

    for (let i = 0; i < 6; i++) {
      clock.advance(300);
      const answers = await direct.perform([request]);
      expect(await remote.perform([request])).toEqual(answers);
      if (i > 2)
        expect(answers).toMatchObject([
          { snapshots: [{ states: [expect.anything(), expect.anything(), expect.anything()] }] },
        ]);
    }
  });

  it('counts with those who reach the store of its service themselves', async () => {
    const store = memoryStore();
    const common = {
      name: 'shared',
      shared: true,
      policy: fixedWindow({ limit: 5, window: '1h' }),
      onStoreError: 'throw',
    } as const;
    const here = createLimiter({ ...common, store: over(store) });
    const there = createLimiter({ ...common, store });

    await there.consume('key', 2);
    expect(await here.consume('key', 2)).toMatchObject({ allowed: true, used: 4, source: 'remote' });
    expect(await there.consume('key', 2)).toMatchObject({ allowed: false, used: 4, source: 'memory' });
  });
});

/**
 * An answer as frames hold it: snapshots name versions of limits that have some, and are left out where they cannot be
 * read.
 */
function onTheWire(answer: StoreAnswers[number], request: StoreRequest): StoreAnswers[number] {
  if (answer instanceof Error || answer.snapshots === undefined) return answer;
  const { snapshots, ...rest } = answer;
  const limits = 'parts' in request ? request.parts.map(({ limit }) => limit) : [];
  const isReadable = snapshots.every(({ version }, i) => (limits[i]?.policyVersion?.version ?? version) === version);
  if (!isReadable) return rest;
  const shown = snapshots.map(({ version, ...snapshot }, i) =>
    limits[i]?.policyVersion === undefined || version === undefined ? snapshot : { ...snapshot, version },
  );
  return { ...rest, snapshots: shown };
}
