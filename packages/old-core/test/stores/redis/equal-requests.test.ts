import { beforeAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { readFileSync } from 'node:fs';
import { isDeepStrictEqual } from 'node:util';
import type { Policy } from '@sluice/old-core';
import { algorithmOf, type AnyAlgorithm } from '@sluice/old-core/spi';
import { cases, seeded, testSeed, useRedis, type Random } from '@sluice/testkit';
import { references } from '../../laws/models/index.ts';
import { START_MS, nextInstant } from '../../traces/step.ts';

const seed = testSeed(20_261_122);
const redis = useRedis();

/** Long states are decided one request at a time. */
const inOneStep = references.filter(({ algorithm }) => algorithm !== 'slidingLog' && algorithm !== 'concurrency');
/**
 * Whether it is told that a state has ended when the one before had: by windows, where those have kept their length.
 */
function tellsEnd(before: Policy, after: Policy): boolean {
  if (before.algorithm === 'fixedWindow') return true; // the end is in the state
  const lengths = [before, after].map((policy) => algorithmOf(policy).numbers(policy).slice(1, 3).join());
  return ['slidingWindow', 'slidingCounter'].includes(before.algorithm) && lengths[0] === lengths[1];
}

/** When the script says that a state has ended: blocks of a slidingWindow end whole, so that they keep their expiry. */
function overAtMs(policy: Policy, state: unknown): number {
  const atMs = algorithmOf(policy).resetAtMs(policy, state);
  return policy.algorithm === 'slidingWindow' ? (Math.floor(atMs / policy.precisionMs) + 1) * policy.precisionMs : atMs;
}

/** Decides the same requests over the same state one by one, and in one step. */
const BOTH_WAYS = `
local policy = {}
for i = 1, kernel.arity do
  policy[i] = tonumber(ARGV[4 + i])
end
local text, cost, now_ms, count = ARGV[1] ~= "" and ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local function told(state, over_at_ms, allowed)
  return string.format("%s over at %d after %d", state or "nothing", over_at_ms or 0, allowed or 0)
end
local state, over_at_ms, allowed = text, 0, 0
for _ = 1, count do
  local after, at_ms = kernel.decide(policy, state, cost, now_ms)
  if after then
    state, over_at_ms, allowed = after, at_ms, allowed + 1
  end
end
local after, at_ms, fitting, same_end = kernel.decide(policy, text, cost, now_ms, nil, nil, count)
return { told(allowed > 0 and state, over_at_ms, allowed), told(after, at_ms, fitting), same_end and 1 or 0 }
`;

function scriptOf(algorithm: string): string {
  const folder = algorithm.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
  const read = (path: string): string =>
    readFileSync(new URL(`../../../src/algorithms/${path}`, import.meta.url), 'utf8');
  const module = folder.replaceAll('-', '_');
  return `${read('whole-number.lua')}${read('instant-and-field.lua')}${read(`${folder}/kernel.lua`)}local kernel = ${module}\n${BOTH_WAYS}`;
}

type Run = readonly [policy: Policy, text: string, cost: number, atMs: number, count: number];
type Told = readonly [bySingles: string, inOneStep: string, sameEnd: 0 | 1];

/** A key of one policy, as the TypeScript kernel leads it through a random life. */
class Life {
  readonly #algorithm: AnyAlgorithm;
  #policy: Policy;
  #writer: Policy;
  #state: unknown;
  #atMs = START_MS;

  constructor(policy: Policy) {
    this.#algorithm = algorithmOf(policy);
    this.#policy = policy;
    this.#writer = policy;
  }

  /** From here on by other numbers, as after a release of a service. */
  changePolicy(policy: Policy): void {
    this.#policy = policy;
  }

  /** Lets time pass, and now and then gives units back, charges more, or forgets the key. */
  goOn(random: Random): void {
    const verdict = this.#algorithm.kernel(this.#policy, this.#state, 0, this.#atMs).verdict;
    const windowMs = this.#algorithm.windowMs(this.#policy);
    const chargedUntilMs = this.#atMs + verdict.resetAfterMs;
    this.#atMs = nextInstant(random, this.#atMs, {
      lastSeen: [{ ...verdict, name: 'p', windowMs }],
      taken: [],
      mayGoBack: true,
    });
    if (random.percent(5)) this.#state = undefined;
    const state = this.#state;
    const units = random.pick([1, 2, random.integer(1, 30), verdict.limit, 2 ** 52]);
    if (state !== undefined && random.percent(15)) {
      this.#become(this.#algorithm.refund(this.#policy, state, units, chargedUntilMs, this.#atMs));
    } else if (random.percent(10)) {
      this.#become(this.#algorithm.charge(this.#policy, state, units, chargedUntilMs, this.#atMs));
    }
  }

  /** Asks for equal requests, and says what the script has to answer. */
  run(random: Random): { run: Run; expected: Told } {
    const { kernel, encode } = this.#algorithm;
    const [before, writer] = [this.#state, this.#writer];
    const { limit, remaining } = kernel(this.#policy, before, 0, this.#atMs).verdict;
    const cost = Math.max(costFor(random, limit, remaining), 1);
    const count = countFor(random, Math.floor(remaining / cost));
    const text = before === undefined ? '' : encode(before);

    let allowed = 0;
    for (; allowed < count; allowed++) {
      const { state, verdict } = kernel(this.#policy, this.#state, cost, this.#atMs);
      if (!verdict.allowed) break; // and so are all that follow: a denial changes nothing
      this.#become(state);
    }

    const run: Run = [this.#policy, text, cost, this.#atMs, count];
    if (allowed === 0) return { run, expected: [NONE, NONE, 0] };
    const atMs = overAtMs(this.#policy, this.#state);
    const told = `${encode(this.#state)} over at ${String(atMs)} after ${String(allowed)}`;
    const isKept = before !== undefined && overAtMs(writer, before) === atMs && tellsEnd(writer, this.#policy);
    return { run, expected: [told, told, isKept ? 1 : 0] };
  }

  #become(state: unknown): void {
    if (state !== this.#state) this.#writer = this.#policy;
    this.#state = state;
  }
}

const NONE = 'nothing over at 0 after 0';

function costFor(random: Random, limit: number, remaining: number): number {
  const small = [1, 1, 1, 1, 2, 3, 7] as const;
  const aroundLimit = [limit, limit + 1, limit + random.integer(0, 10), 2 * limit, Math.ceil(limit / 3)];
  const aroundLeft = [1, 2, 3, 1000].map((parts) => Math.floor(remaining / parts));
  return random.pick([...small, ...aroundLimit, ...aroundLeft, remaining + 1, Number.MAX_SAFE_INTEGER]);
}

/** Around what fits, and up to 10 000. */
function countFor(random: Random, fitting: number): number {
  if (random.percent(2)) return random.pick([1_000, 9_999, 10_000]);
  const around = Math.min(fitting, 500) + random.pick([-1, 0, 1]);
  return Math.max(random.pick([1, 2, 3, random.integer(1, 40), around]), 1);
}

describe.each(inOneStep)('equal requests of $algorithm that are decided in one step', ({ algorithm, policies }) => {
  let sha1 = '';
  beforeAll(async () => {
    sha1 = String(await redis.admin.script('LOAD', scriptOf(algorithm)));
  });
  const decide = (runs: readonly Run[]): Promise<unknown[]> =>
    Promise.all(
      runs.map(([policy, text, cost, atMs, count]) =>
        redis.admin.evalsha(sha1, 0, text, cost, atMs, count, ...algorithmOf(policy).numbers(policy)),
      ),
    );

  it('leave the bytes that single ones leave, allow as many, and say when the end has stayed', async () => {
    const versions = fc.tuple(policies, policies);
    for (const [number, [first, second]] of fc.sample(versions, { seed, numRuns: cases(20) }).entries()) {
      const random = seeded(seed + number);
      const life = new Life(first);
      const steps = Array.from({ length: 120 }, () => {
        if (random.percent(10)) life.changePolicy(random.pick([first, second]));
        life.goOn(random);
        return life.run(random);
      });

      const told = await decide(steps.map(({ run }) => run));

      const wrong = steps.flatMap((step, i) =>
        isDeepStrictEqual(told[i], step.expected) ? [] : [{ ...step, told: told[i] }],
      );
      expect({ seed, number, wrong: wrong.slice(0, 3) }).toEqual({ seed, number, wrong: [] });
    }
  });
});
