import { describe, expect, it } from '@jest/globals';
import { cases, seeded, testSeed, useRedis, type Random } from '@sluice/testkit';
import {
  BLOCK,
  CHARGE,
  GIVE,
  RENEW,
  RESET,
  RESET_AFTER,
  RETRY_AFTER,
  TAKE,
  TRY,
  NEXT_AFTER,
  PEEK,
} from '../../src/program/decide.ts';
import type { Answer, Ask, Plan } from './memory.ts';
import { anyPlan, MAKERS } from './any-policy.ts';
import { ProgramInMemory } from './memory.ts';
import { performInRedis, type Request } from './redis.ts';

const redis = useRedis();
const seed = testSeed(20_261_129);

/** Random calls of Redis, of one to some requests each, on the keys of some policies. */
class Traffic {
  readonly #random: Random;
  readonly #name: string;
  readonly #plans: readonly Plan[];
  /** Whether the policies share a key now and then, and read what another kind wrote. */
  readonly #isMixed: boolean;
  nowMs: number;
  #waits: number[] = [];
  #until: number[] = [0];

  constructor(random: Random, name: string, plans: readonly Plan[], isMixed: boolean) {
    this.#random = random;
    this.#name = name;
    this.#plans = plans;
    this.#isMixed = isMixed;
    this.nowMs = 1_900_000_000_000 + random.integer(0, 1e9);
  }

  /** The requests of the next call, at an instant that is near an edge of what was answered. */
  next(): readonly Request[] {
    const edges = this.#waits.flatMap((wait) => [wait, wait - 1]).filter((wait) => wait >= 0 && wait < 1e11);
    this.nowMs += this.#random.pick([0, 0, 1, 3, 99, 1_000, -5, -1_000, ...edges]);
    const requests: Request[] = [];
    for (let left = this.#random.pick([1, 1, 2, 6]); left > 0; left--) {
      const request = this.#request();
      const times = this.#random.pick([1, 1, 1, 3]);
      if (request.asks.length > 0) requests.push(...new Array<Request>(times).fill(request));
    }
    return requests;
  }

  learn({ figures }: Answer): void {
    this.#waits = figures.flatMap((told) => [RETRY_AFTER, RESET_AFTER, NEXT_AFTER].map((place) => told[place] ?? 0));
    this.#until = [0, ...figures.map((told) => this.nowMs + (told[RESET_AFTER] ?? 0))];
  }

  #request(): Request {
    const op = this.#random.pick([TAKE, TAKE, TAKE, TAKE, PEEK, TRY, GIVE, CHARGE, RESET, BLOCK, RENEW]);
    const cost = this.#random.pick([op < GIVE || op === BLOCK ? 0 : 1, 1, 1, 1, 2, 3, 50]);
    const holder = this.#random.integer(1, 3);
    const asks = new Map<string, Ask>();
    for (const [i, plan] of this.#plans.entries()) {
      const key = `${this.#name}:${this.#isMixed && this.#random.percent(12) ? 'shared' : String(i)}`;
      if (this.#random.percent(75)) asks.set(key, { key, plan, cost, holder: plan.kind === 'h' ? holder : 0 });
    }
    if (op < GIVE) return { op, asks: [...asks.values()] };
    const until = op === BLOCK ? this.#random.pick([0, 1, 500, 100_000]) : this.#random.pick(this.#until as [number]);
    return { op, asks: [...asks.values()].slice(0, 1).map((ask) => ({ ...ask, until })) };
  }
}

async function difference(
  random: Random,
  name: string,
  plans: readonly Plan[],
  isMixed: boolean,
): Promise<object | undefined> {
  const traffic = new Traffic(random, name, plans, isMixed);
  const memory = new ProgramInMemory();
  for (let call = 0; call < 40; call++) {
    const requests = traffic.next();
    memory.atMs = traffic.nowMs;
    const there = requests.length === 0 ? [] : await performInRedis(redis.client, requests, traffic.nowMs);
    for (const [number, { op, asks }] of requests.entries()) {
      const here = memory.perform(op, asks);
      traffic.learn(here);
      if (JSON.stringify(here) !== JSON.stringify(there[number]))
        return { name, call, number, op, asks, here, there: there[number] };
    }
  }
  return undefined;
}

describe('the program in Redis', () => {
  it.each(Object.keys(MAKERS))('answers every random call of %s as in memory', async (kind) => {
    const random = seeded(seed);

    for (let trace = 0; trace < cases(40); trace++) {
      const plans = [anyPlan(random, kind), anyPlan(random, kind)];
      expect(await difference(random, `sluice:${kind}-${String(trace)}`, plans, trace % 2 === 0)).toBeUndefined();
    }
  });

  it('answers every random call of policies of several kinds as in memory, also on a key that they share', async () => {
    const random = seeded(seed);

    for (let trace = 0; trace < cases(200); trace++) {
      const plans = Array.from({ length: random.integer(1, 4) }, () => anyPlan(random));
      expect(await difference(random, `sluice:mixed-${String(trace)}`, plans, trace % 2 === 0)).toBeUndefined();
    }
  });
});
