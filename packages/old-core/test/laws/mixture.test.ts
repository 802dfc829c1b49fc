import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { Redis } from 'ioredis';
import { escalate, type Limit, type Part, type Policy, type StoreAnswer, type StoreRequest } from '@sluice/old-core';
import { evaluate, keySuffixOf, namePolicies, type KeyState } from '@sluice/old-core/spi';
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
import { START_MS } from '../traces/step.ts';

const seed = testSeed(20_261_123);
const ROUNDS = cases(12);
const CARRY_OVERS = ['keep', 'reset'] as const;
const referenceOf = (name: string): (typeof references)[number] =>
  references.find(({ algorithm }) => algorithm === name) as (typeof references)[number];
const long = [referenceOf('slidingLog'), referenceOf('concurrency')] as const;

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

/** A key and its limits: the same kinds with other numbers, with escalation and without. */
interface Key {
  readonly subject: string;
  readonly limits: readonly [Limit, ...Limit[]];
}

const one = (random: Random, policies: fc.Arbitrary<Policy>): Policy =>
  fc.sample(policies, { seed: random.integer(0, 2 ** 31), numRuns: 1 })[0] as Policy;

function anEscalation(random: Random): Pick<Limit, 'escalation'> {
  if (random.percent(50)) return {};
  const block = random.pick<number | number[]>([1, 40, 60_000, [1, 50, 2000]]);
  return {
    escalation: escalate({ after: random.integer(1, 4), block, decay: random.pick([1, 20, 1000, 60_000]) }),
  };
}

/** A policy of this kind; a fixed window often counts what it denies. */
function aPolicy(random: Random, { policies }: (typeof references)[number]): Policy {
  const policy = one(random, policies);
  return policy.algorithm === 'fixedWindow' && random.percent(60) ? { ...policy, countDenied: true } : policy;
}

/** Several policies whose numbers change, most of them with long states. */
function listKey(random: Random, subject: string, number: number): Key {
  const kinds = Array.from({ length: random.integer(1, 3) }, () =>
    random.percent(75)
      ? random.pick(long)
      : (references[random.integer(0, references.length - 1)] as (typeof references)[number]),
  );
  const limitOf = (): Limit => {
    const policies = kinds.map((kind, i) => ({ ...aPolicy(random, kind), name: `p${String(i)}` }));
    const named = namePolicies(policies, 'mixture');
    return { policies: named, keySuffix: keySuffixOf(`m${String(number)}`, named), ...anEscalation(random) };
  };
  return { subject, limits: [limitOf(), limitOf(), limitOf()] };
}

/** One managed policy in several versions. */
function managedKey(random: Random, subject: string, number: number): Key {
  const history = Array.from({ length: 4 }, () =>
    namePolicies(
      {
        ...aPolicy(random, random.percent(75) ? random.pick(long) : referenceOf('fixedWindow')),
        name: 'orders',
      },
      'orders',
    ),
  );
  const limitOf = (version: number): Limit => {
    const earlier = new Map<
      number,
      { policies: Limit['policies']; carryOver: (typeof CARRY_OVERS)[number] } | 'unknown'
    >();
    for (let before = 1; before < version; before++) {
      if (random.percent(10)) continue;
      earlier.set(
        before,
        random.percent(8)
          ? 'unknown'
          : { policies: history[before - 1] as Limit['policies'], carryOver: random.pick(CARRY_OVERS) },
      );
    }
    return {
      policies: history[version - 1] as Limit['policies'],
      keySuffix: `:managed${String(number)}:2m`,
      policyVersion: { version, earlier },
      ...anEscalation(random),
    };
  };
  return { subject, limits: [limitOf(1), limitOf(1), limitOf(2), limitOf(3), limitOf(4), limitOf(4)] };
}

const OPS = [
  ...Array.from({ length: 12 }, () => 'consume' as const),
  'peek',
  'peek',
  'refund',
  'refund',
  'charge',
  'release',
  'release',
  'renew',
  'reset',
  'block',
  'unblock',
] as const;

describe('calls that mix everything', () => {
  it('get the same answers from the script and the kernels', async () => {
    for (let round = 0; round < ROUNDS; round++) {
      const random = seeded(seed + round);
      const clock = fakeClock(START_MS);
      const store = virtualRedisStore(redis, clock, { prefix: 'sluice' }, 0);
      const states = new Map<string, KeyState>();
      const keys = Array.from({ length: random.integer(1, 4) }, (_, i) =>
        (random.percent(60) ? listKey : managedKey)(random, `mix-${String(seed)}-${String(round)}-${String(i)}`, i),
      ) as [Key, ...Key[]];
      let newest = 0;
      const taken: { part: Part; chargedUntilMs: number[] }[] = [];

      const limitNow = ({ limits }: Key): Limit =>
        random.percent(20)
          ? (limits[random.integer(0, limits.length - 1)] as Limit)
          : (limits[newest % limits.length] as Limit);
      const partOf = (key: Key, limit = limitNow(key)): Part => {
        const { policy } = limit.policies[random.integer(0, limit.policies.length - 1)] as Limit['policies'][number];
        const numbers = policy as unknown as { limit?: number; capacity?: number };
        const most = numbers.limit ?? numbers.capacity ?? 1;
        return {
          limit,
          subject: key.subject,
          cost: random.pick([
            ...[0, 1, 1, 1, 2, 2, 3],
            ...[most, most + 1, Math.ceil(most / 2), Math.max(most - 1, 1), 2 * most, Number.MAX_SAFE_INTEGER],
          ] as [number, ...number[]]),
          holder: String(random.integer(1, 8)),
        };
      };
      const requestOf = (): StoreRequest => {
        const key = random.pick(keys);
        const op = random.pick(OPS as unknown as ['consume', ...(typeof OPS)[number][]]);
        switch (op) {
          case 'consume':
          case 'peek': {
            const parts = [partOf(key)];
            if (random.percent(35)) {
              const limitOf = new Map([[key, parts[0]?.limit as Limit]]);
              for (let more = random.integer(1, 3); more > 0; more--) {
                const other = random.pick(keys);
                const limit = limitOf.get(other);
                const part = partOf(other, limit);
                limitOf.set(other, part.limit);
                const first = parts[0]?.cost as number;
                parts.push(random.percent(60) || first === 0 || part.cost === 0 ? { ...part, cost: first } : part);
              }
            }
            return { op, parts };
          }
          case 'refund':
          case 'charge': {
            const by =
              op === 'refund' && random.percent(30) ? { byMs: clock.atMs + random.pick([-1, 0, 1, 1000]) } : {};
            const late = taken.slice(-12);
            if (random.percent(25)) return { op, part: partOf(key), ...by }; // of no decision
            if (late.length > 0 && random.percent(85)) {
              const { part, chargedUntilMs } = random.pick(late as [(typeof late)[0]]);
              const cost = random.pick([part.cost, part.cost, 1, 2, random.integer(1, 5), Number.MAX_SAFE_INTEGER]);
              return { op, part: { ...part, cost }, chargedUntilMs, ...by };
            }
            const part = partOf(key);
            return {
              op,
              part: { ...part, cost: Math.max(part.cost, 1) },
              chargedUntilMs: part.limit.policies.map(({ windowMs }) => clock.atMs + random.pick([0, 1, windowMs, -1])),
              ...by,
            };
          }
          case 'release':
          case 'renew': {
            const late = taken.slice(-12);
            if (late.length > 0 && random.percent(85))
              return { op, part: random.pick(late as [(typeof late)[0]]).part };
            return { op, part: partOf(key) };
          }
          case 'block':
            return { op, part: partOf(key), durationMs: random.integer(1, 3000), reset: random.percent(30) };
          default:
            return { op, part: partOf(key) };
        }
      };
      const stateOf = ({ subject, limit }: Part): KeyState => {
        const id = subject + limit.keySuffix;
        const state = states.get(id) ?? { blockedUntilMs: 0, states: limit.policies.map(() => undefined) };
        states.set(id, state);
        return state;
      };

      for (let step = 0; step < 120; step++) {
        if (random.percent(5)) newest++;
        const some = keys[random.integer(0, keys.length - 1)] as Key;
        const windowMs = Math.min(limitNow(some).policies[0]?.windowMs ?? 1, 10 ** 11);
        const sinceStep = random.percent(4)
          ? -random.integer(0, 500)
          : random.pick([0, 0, 0, 1, 1, 2, random.integer(0, 20), random.integer(0, windowMs), windowMs - 1, windowMs]);
        clock.atMs = Math.max(clock.atMs + sinceStep, START_MS - 1e6);
        const batch = Array.from({ length: random.percent(40) ? 1 : random.integer(2, 12) }, requestOf);
        const expected: StoreAnswer[] = [];
        for (const request of batch) {
          const parts = 'parts' in request ? request.parts : [request.part];
          const evaluation = evaluate(request, parts.map(stateOf), clock.atMs);
          expected.push(evaluation.answer);
          if (request.op === 'consume' && evaluation.changed) {
            parts.forEach((part, i) => {
              if (part.cost === 0) return;
              const chargedUntilMs = (evaluation.answer.parts[i]?.policies ?? []).map(
                ({ resetAfterMs }) => clock.atMs + resetAfterMs,
              );
              taken.push({ part, chargedUntilMs });
            });
          }
        }
        const answers = await store.perform(batch);

        expect({ round, step, answers }).toEqual({ round, step, answers: expected });
      }
    }
  });
});
