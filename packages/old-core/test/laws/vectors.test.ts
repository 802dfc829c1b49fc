import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { memoryStore, type Limit, type Policy, type Store } from '@sluice/old-core';
import { evaluate, keySuffixOf, namePolicies, type KeyState } from '@sluice/old-core/spi';
import { fakeClock, startRedis, virtualRedisStore, type FakeClock, type RedisServer } from '@sluice/testkit';
import { references } from './models/index.ts';

/**
 * Worked by hand; `expect` is allowed (0 or 1), remaining, retryAfterMs, resetAfterMs and, where that is not 0,
 * delayMs. After a refund or a charge, the state then.
 */
interface Vector {
  readonly name: string;
  readonly policy: Readonly<Record<string, unknown>>;
  readonly steps: readonly {
    readonly at: number;
    readonly cost: number;
    readonly op?: 'consume' | 'peek' | 'refund' | 'charge';
    /** The step whose units are refunded, or charged more. Left out: no step, but the key. */
    readonly of?: number;
    readonly expect: readonly [number, number, number | null, number, number?];
    readonly used?: number;
    readonly because?: string;
  }[];
}

const vectorsOf = (algorithm: string): readonly Vector[] => {
  const folder = algorithm.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
  return JSON.parse(
    readFileSync(new URL(`../../src/algorithms/${folder}/vectors.json`, import.meta.url), 'utf8'),
  ) as Vector[];
};

/** Some 138 years: a whole multiple of every window and block in the vectors, and ahead of any server's clock. */
const BASE_MS = 20 * 2520 * 86_400_000;

/** The kernels alone, as a store. */
function kernels(clock: FakeClock): Store {
  const key: KeyState = { blockedUntilMs: 0, states: [undefined] };
  return {
    source: 'memory',
    perform: (requests) => requests.map((request) => evaluate(request, [key], clock.atMs).answer),
  };
}

async function play(
  { steps }: Vector,
  policy: Policy,
  store: Store,
  clock: FakeClock,
  subject: string,
): Promise<unknown[]> {
  const policies = namePolicies(policy, 'vector');
  const limit: Limit = { policies, keySuffix: keySuffixOf('vector', policies) };
  const endsMs: number[] = [];
  const seen: unknown[] = [];
  for (const { at, cost, op = 'consume', of, used } of steps) {
    clock.atMs = BASE_MS + at;
    const isSettling = op === 'refund' || op === 'charge';
    if (isSettling) {
      const part = { limit, subject, cost, holder: String((of ?? 0) + 1) };
      await store.perform([of === undefined ? { op, part } : { op, part, chargedUntilMs: [endsMs[of] ?? 0] }]);
    }
    const [answer] = await store.perform([
      isSettling
        ? { op: 'peek', parts: [{ limit, subject, cost: 0 }] }
        : { op, parts: [{ limit, subject, cost, holder: String(seen.length + 1) }] },
    ]);
    if (answer === undefined || answer instanceof Error) throw answer ?? new Error('no answer');
    const verdict = answer.parts[0]?.policies[0];
    if (verdict === undefined) throw new Error('no decision');
    endsMs.push(answer.atMs + verdict.resetAfterMs);
    const { allowed, remaining, retryAfterMs, resetAfterMs, delayMs } = verdict;
    seen.push([Number(allowed), remaining, retryAfterMs, resetAfterMs, ...(delayMs === 0 ? [] : [delayMs])]);
    if (used !== undefined) expect(verdict.used).toBe(used);
  }
  return seen;
}

describe.each(references)('the vectors of $algorithm', ({ algorithm, policyOf }) => {
  let server: RedisServer;
  let redis: Redis;

  beforeAll(async () => {
    server = await startRedis();
    redis = new Redis(server.storeUrl);
  });
  afterAll(async () => {
    redis.disconnect();
    await server.stop();
  });

  it.each(vectorsOf(algorithm))('hold in the kernel: $name', async (vector) => {
    const clock = fakeClock();

    const seen = await play(vector, policyOf(vector.policy), kernels(clock), clock, 'one');

    expect(seen).toEqual(vector.steps.map((step) => step.expect));
  });

  it.each(vectorsOf(algorithm))('hold in the memory store: $name', async (vector) => {
    const clock = fakeClock();

    const seen = await play(vector, policyOf(vector.policy), memoryStore({ clock }), clock, 'one');

    expect(seen).toEqual(vector.steps.map((step) => step.expect));
  });

  it.each(vectorsOf(algorithm).map((vector, number) => ({ ...vector, number })))(
    'hold in Redis: $name',
    async ({ number, ...vector }) => {
      const clock = fakeClock();

      const seen = await play(
        vector,
        policyOf(vector.policy),
        virtualRedisStore(redis, clock, { prefix: 'sluice' }, 0),
        clock,
        String(number),
      );

      expect(seen).toEqual(vector.steps.map((step) => step.expect));
    },
  );
});
