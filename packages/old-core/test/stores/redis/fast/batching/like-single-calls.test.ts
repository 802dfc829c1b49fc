import { beforeEach, describe, expect, it, jest } from '@jest/globals';
import fc from 'fast-check';
import { fixedWindow, type Decision } from '@sluice/old-core';
import {
  cases,
  changingPolicy,
  fakeClock,
  seeded,
  testSeed,
  useRedis,
  type FakeClock,
  type Random,
  withoutFastPath,
} from '@sluice/testkit';
import { references } from '../../../../laws/models/index.ts';
import { START_MS, nextInstant } from '../../../../traces/step.ts';
import { Way, heldUnder, inBatches, oneByOne, type Answer, type Service, type Task } from './way.ts';

const seed = testSeed(20_261_123);
const redis = useRedis();
const TRACES = cases(8);
const TURNS = 30;
const KEYS = ['ann', 'ben', 'cat'] as const;
/** Numbers of the limiters, see {@link Way}: the last one is asked for two keys at once. */
const LIMITERS = 9;

const changing = changingPolicy('orders', fixedWindow({ limit: 4, window: '1s' }));
changing.change(fixedWindow({ limit: 5, window: '1s' }), 'keep');

beforeEach(async () => {
  jest.spyOn(process, 'emitWarning').mockImplementation(() => undefined);
  await redis.admin.flushall();
});

const plainPolicies = references.filter(({ algorithm }) => algorithm !== 'slidingLog' && algorithm !== 'concurrency');
const anyPlain = fc.oneof(...plainPolicies.map(({ policies: some }) => some));
const services: fc.Arbitrary<Service> = fc.constantFrom(...plainPolicies).chain(({ policies: own }) =>
  fc.record({
    plain: fc.tuple(fc.tuple(own), fc.tuple(anyPlain), fc.array(anyPlain, { minLength: 2, maxLength: 4 })),
    changed: fc.tuple(own),
    pair: fc.tuple(anyPlain, anyPlain),
  }),
);

/** What a trace looks at to come close to the edges. */
interface TraceState {
  /** Per limiter, what its last decision said. */
  readonly last: (Decision | undefined)[];
  /** Numbers of the tasks that took something. */
  readonly taken: number[];
  holders: number;
}

function taskOf(random: Random, seen: TraceState): Task {
  const key = random.pick(KEYS);
  const limiter = random.integer(0, LIMITERS - 1);
  const kind = random.integer(1, 100);
  if (kind <= 6 && seen.taken.length > 0) {
    return { what: 'refund', of: random.pick(seen.taken as [number, ...number[]]), cost: random.integer(1, 3) };
  }
  if (kind <= 9) return { what: 'acquire', key, holder: String(seen.holders++) };
  if (kind <= 11) return { what: 'release', holder: String(random.integer(0, seen.holders)) };
  if (limiter < LIMITERS - 1) {
    if (kind <= 13) return { what: random.pick(['reset', 'unblock']), limiter, key };
    if (kind <= 14) return { what: 'block', limiter, key, durationMs: random.integer(1, 3_000) };
  }
  return { what: kind <= 20 ? 'peek' : 'consume', limiter, key, cost: costOf(random, seen.last[limiter]) };
}

function costOf(random: Random, last: Decision | undefined): number {
  const { limit = 3, remaining = 3 } = last ?? {};
  return random.pick([0, 1, 1, 1, 1, 1, 1, 2, 2, 5, Math.ceil(limit / 3), limit, limit + 1, remaining, remaining + 1]);
}

/** Nothing that a policy writes, but some of it looks like an answer. */
const FOREIGN: readonly [string | Buffer, ...(string | Buffer)[]] = [
  ...(['garbage', '!12x!4102444800000000001', '99999999999999999999999'] as const),
  ...['', '-', '-5:5', '-not a value', 'a\nb', '\n', '4102444800000000001\n', '!4202444800000!a\nb', '^1:2:3^\n'],
  ...['4102444800000000001 4102444800000000001 4102444800000000001', '4102444800000000001 ', ' '],
  Buffer.from([0x34, 0xe2, 0x82]), // ends in the middle of a character
];

/** Puts something else in the place of a few values, or of keys that are not there, or takes it away. */
async function spoil(random: Random, prefixes: readonly string[]): Promise<void> {
  const held = await heldUnder(redis.admin, prefixes[0] as string);
  const names = [...held.keys()];
  if (names.length === 0 || random.percent(60)) return;
  const name = random.pick(names as [string, ...string[]]);
  const text = random.pick(FOREIGN);
  const how = random.pick(['text', 'text', 'list', 'gone', 'gone']);
  for (const prefix of prefixes) {
    const key = `${prefix}${name}`;
    if (how !== 'text') await redis.admin.del(key);
    if (how === 'text') await redis.admin.set(key, text);
    if (how === 'list') await redis.admin.lpush(key, 'a list');
  }
}

describe('requests that are asked for in one turn of the event loop', () => {
  const ways = ['one', 'all', 'each'] as const;
  const prefixOf = (way: string, number: number): string => `sluice:${String(number)}:${way}`;

  function waysOf(number: number, clock: FakeClock, service: Service): readonly Way[] {
    return ways.map((way) => {
      const prefix = prefixOf(way, number);
      if (way === 'one') return new Way(prefix, oneByOne(redis.client, clock, prefix), service, changing);
      const store = inBatches(redis.client, clock, { prefix, check: false });
      return new Way(prefix, way === 'all' ? store : withoutFastPath(store), service, changing);
    });
  }

  it.each(Array.from({ length: TRACES }, (_, i) => i))(
    'are decided as one by one, and leave the same bytes and expiries: trace %i',
    async (number) => {
      const [service] = fc.sample(services, { seed: seed + number, numRuns: 1 }) as [Service];
      const random = seeded(seed + number);
      const clock = fakeClock(START_MS);
      const all = waysOf(number, clock, service);
      for (const way of all) await way.warmUp();
      const prefixes = all.map(({ prefix }) => prefix);
      const seen: TraceState = { last: [], taken: [], holders: 0 };
      let tasks = 0;

      for (let turn = 0; turn < TURNS; turn++) {
        await spoil(random, prefixes);
        const lastSeen = seen.last.flatMap((decision) => decision?.policies ?? []);
        if (lastSeen.length > 0) clock.atMs = nextInstant(random, clock.atMs, { lastSeen, taken: [], mayGoBack: true });
        const asked = Array.from({ length: random.integer(1, random.pick([3, 12, 60])) }, () => taskOf(random, seen));
        const base = tasks;
        tasks += asked.length;

        const answers = await Promise.all(
          all.map((way) => Promise.all(asked.map((task, i) => way.perform(task, base + i)))),
        );
        const held = await Promise.all(prefixes.map((prefix) => heldUnder(redis.admin, prefix)));

        const told = { seed, number, turn, atMs: clock.atMs - START_MS, service, asked };
        for (const [i, way] of ways.entries()) {
          expect({ ...told, way, answers: answers[i], held: held[i] }).toEqual({
            ...told,
            way,
            answers: answers[0],
            held: held[0],
          });
        }
        note(seen, asked, answers[0] as Answer[], base);
      }
      await Promise.all(all.map((way) => way.close()));
    },
  );
});

function note(seen: TraceState, asked: readonly Task[], answers: readonly Answer[], base: number): void {
  asked.forEach((task, i) => {
    const answer = answers[i];
    if (typeof answer !== 'object' || !('policies' in answer) || task.what !== 'consume') return;
    seen.last[task.limiter] = answer;
    if (answer.allowed && answer.cost > 0) seen.taken.push(base + i);
  });
}
