import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { Redis } from 'ioredis';
import type { Policy } from '@sluice/old-core';
import { cases, seeded, startRedis, testGeneral, testSeed, type RedisServer } from '@sluice/testkit';
import { countingPolicies } from './models/fixed-window.ts';
import { references } from './models/index.ts';
import type { ModelRules } from './models/model-escalation.ts';
import { Paths } from '../traces/paths.ts';
import { walk } from '../traces/walk.ts';

const seed = testSeed(20_261_121);
const anyPolicy = fc.oneof(...references.map(({ policies }) => policies));
const sampled = <T>(arbitrary: fc.Arbitrary<T>, count: number): readonly T[] =>
  fc.sample(arbitrary, { seed, numRuns: cases(count) });

let server: RedisServer;
let redis: Redis;

beforeAll(async () => {
  server = await startRedis();
  redis = new Redis(server.storeUrl);
  const admin = new Redis(server.url);
  await admin.script('LOAD', testGeneral().source); // so that calls sent together keep their order
  admin.disconnect();
});
afterAll(async () => {
  redis.disconnect();
  await server.stop();
});

describe.each(references)('random traces of $algorithm', ({ algorithm, policies }) => {
  it('give the same answers and the same bytes in kernel, model, memory and Redis, whatever the clock does', async () => {
    for (const [number, policy] of sampled(policies, 10).entries()) {
      const paths = new Paths({ seed, policies: [[policy]], redis, subject: `${algorithm}-${String(number)}` });

      const answers = await walk(paths, seeded(seed + number), { steps: 300, mayGoBack: true });

      expect(answers).toHaveLength(300);
    }
  });
});

describe('random traces of several policies', () => {
  it('in one list are decided alike, all or nothing', async () => {
    const lists = fc.array(anyPolicy, { minLength: 2, maxLength: 4 });
    for (const [number, list] of sampled(lists, 10).entries()) {
      const paths = new Paths({ seed, policies: [list], redis, subject: `list-${String(number)}` });

      const answers = await walk(paths, seeded(seed + number), { steps: 200, mayGoBack: true });

      expect(answers).toHaveLength(200);
    }
  });

  it('each with a key of its own are decided alike, all or nothing', async () => {
    const limits = fc.array(fc.array(anyPolicy, { minLength: 1, maxLength: 2 }), { minLength: 2, maxLength: 3 });
    for (const [number, list] of sampled(limits, 10).entries()) {
      const paths = new Paths({ seed, policies: list, redis, subject: `limits-${String(number)}` });

      const answers = await walk(paths, seeded(seed + number), { steps: 200, mayGoBack: false });

      expect(answers).toHaveLength(200);
    }
  });
});

describe('random traces of limits that escalate', () => {
  const rules: fc.Arbitrary<ModelRules> = fc.record({
    after: fc.integer({ min: 1, max: 4 }),
    block: fc.oneof(
      fc.constantFrom(1, 10, 1_000, 60_000, 50_000_000, 5 * 86_400_000),
      fc.array(fc.constantFrom(1, 50, 2_000, 86_400_000), { minLength: 1, maxLength: 4 }),
    ),
    decay: fc.constantFrom(1, 20, 1_000, 60_000, 86_400_000),
  });
  const key = fc.record({
    policies: fc.array(anyPolicy, { minLength: 1, maxLength: 2 }),
    rules: fc.option(rules, { nil: undefined }),
  });

  it.each([
    { what: 'of one key, whatever the clock does', keys: 1, batch: 1, mayGoBack: true },
    { what: 'of several keys, in one decision', keys: 3, batch: 1, mayGoBack: false },
    { what: 'many of them in one call', keys: 4, batch: 30, mayGoBack: false },
  ])('give the same answers and the same bytes in kernel, model, memory and Redis: $what', async (trace) => {
    const lists = fc.array(key, { minLength: trace.keys, maxLength: trace.keys });
    for (const [number, list] of sampled(lists, 10).entries()) {
      const paths = new Paths({
        seed,
        policies: list.map(({ policies }) => policies),
        escalations: list.map((one, i) => (i === 0 ? (one.rules ?? { after: 2, block: 40, decay: 500 }) : one.rules)),
        redis,
        subject: `escalated-${String(trace.keys)}-${String(number)}`,
      });

      const answers = await walk(paths, seeded(seed + number), { steps: 300, ...trace });

      expect(answers).toHaveLength(300);
    }
  });
});

describe('random traces of limits that count what they deny', () => {
  const list = fc
    .tuple(fc.array(fc.oneof(countingPolicies, anyPolicy), { maxLength: 2 }), countingPolicies, fc.boolean())
    .map(([others, policy, isFirst]) => (isFirst ? [policy, ...others] : [...others, policy]));
  const rules = fc.option(fc.constantFrom<ModelRules>({ after: 3, block: 40, decay: 500 }), { nil: undefined });

  it.each([
    { what: 'of one key, whatever the clock does', keys: 1, batch: 1, mayGoBack: true },
    { what: 'of several keys, in one decision', keys: 3, batch: 1, mayGoBack: false },
    { what: 'many of them in one call', keys: 4, batch: 30, mayGoBack: false },
  ])('give the same answers and the same bytes in kernel, model, memory and Redis: $what', async (trace) => {
    const lists = fc.array(fc.record({ list, rules }), { minLength: trace.keys, maxLength: trace.keys });
    for (const [number, keys] of sampled(lists, 10).entries()) {
      const paths = new Paths({
        seed,
        policies: keys.map((key) => key.list),
        escalations: keys.map((key) => key.rules),
        redis,
        subject: `counted-${String(trace.keys)}-${String(number)}`,
      });

      const answers = await walk(paths, seeded(seed + number), { steps: 300, ...trace });

      expect(answers).toHaveLength(300);
    }
  });
});

describe('many requests in one call', () => {
  it('get the same answers as one by one at that instant, on the same key and on others', async () => {
    const limits = fc.array(fc.array(anyPolicy, { minLength: 1, maxLength: 3 }), { minLength: 1, maxLength: 6 });
    for (const [number, list] of sampled(limits, 10).entries()) {
      const paths = new Paths({ seed, policies: list, redis, subject: `batch-${String(number)}` });

      const answers = await walk(paths, seeded(seed + number), { steps: 300, batch: 30, mayGoBack: false });

      expect(answers).toHaveLength(300);
    }
  });
});

describe.each(references)(
  'a state of $algorithm that is read after its policy has changed',
  ({ algorithm, policies }) => {
    it('is decided alike in kernel, memory and Redis, and never shows fewer than no units', async () => {
      const pairs: fc.Arbitrary<readonly [Policy, Policy, Policy]> = fc.tuple(policies, policies, policies);
      for (const [number, versions] of sampled(pairs, 10).entries()) {
        const paths = new Paths({
          seed,
          policies: [[versions[0]]],
          redis,
          subject: `changed-${algorithm}-${String(number)}`,
          models: false,
        });
        const random = seeded(seed + number);

        for (let version = 0; version < 30; version++) {
          for (const key of paths.keys) paths.changePolicies(key, [versions[version % 3] as Policy]);
          const answers = await walk(paths, random, { steps: 8, mayGoBack: true });

          const shown = answers.flatMap(({ parts }) => parts.flatMap((part) => part.policies));
          expect(
            shown.filter(
              ({ remaining, resetAfterMs, retryAfterMs }) =>
                remaining < 0 || resetAfterMs < 0 || (retryAfterMs ?? 0) < 0,
            ),
          ).toEqual([]);
        }
      }
    });
  },
);
