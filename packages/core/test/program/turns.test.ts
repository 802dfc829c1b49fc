import { describe, expect, it } from '@jest/globals';
import { cases, seeded, testSeed, type Random } from '@sluice/testkit';
import { fixedWindow } from '../../src/policies/fixed-window.ts';
import { compile, type Policy } from '../../src/policies/index.ts';
import { slidingCounter } from '../../src/policies/sliding-counter.ts';
import { slidingLog } from '../../src/policies/sliding-log.ts';
import { slidingWindow } from '../../src/policies/sliding-window.ts';
import { tokenBucket } from '../../src/policies/token-bucket.ts';
import { ALLOWED, NEXT_AFTER, RESET_AFTER, RETRY_AFTER } from '../../src/program/decide.ts';
import { readEnd } from '../../src/stores/perform.ts';
import { anyPolicy, NAMES, type KindName } from './any-policy.ts';
import { modelOf, waitFor, type Model } from './models.ts';
import { ProgramStore, START } from './stores.ts';

const seed = testSeed(20_261_129);

/** A policy of a pair, and what it allows alone. */
interface Counted {
  readonly policy: Policy;
  /** The most units of one request. */
  readonly limit: number;
  /** How long units count; of a bucket, until it is full again. */
  readonly windowMs: number;
  /** How many units come back each millisecond; of a bucket. */
  readonly rate: number;
  /** Of a fixed window. */
  readonly align?: 'clock' | 'first-hit';
  /** Of a sliding window. */
  readonly blockMs: number;
  /** The most units at once, of a bucket, and how many more in any interval of this length. */
  readonly burst: number;
  mostIn(lengthMs: number): number;
}

function counted(policy: Policy): Counted {
  const { limit, windowMs } = compile(policy);
  if ('capacity' in policy) {
    const { refill, everyMs, overdraft, algorithm } = policy;
    const rate = refill / everyMs;
    const mostIn = (ms: number): number =>
      algorithm === 'intervalBucket' ? refill * (Math.floor(ms / everyMs) + 1) : ms * rate;
    return { policy, limit, windowMs: limit / rate, rate, blockMs: everyMs, burst: limit + overdraft, mostIn };
  }
  if ('maxDelayMs' in policy) {
    const rate = policy.limit / policy.windowMs;
    return { policy, limit, windowMs: limit / rate, rate, blockMs: 0, burst: limit, mostIn: (ms) => ms * rate };
  }
  const blockMs = 'precisionMs' in policy ? policy.precisionMs : windowMs;
  const keptMs = Math.ceil(windowMs / blockMs) * blockMs;
  const align = 'align' in policy ? policy.align : undefined;
  return {
    ...{ policy, limit, windowMs: keptMs, rate: 0, blockMs, burst: 0, ...(align && { align }) },
    mostIn(lengthMs) {
      const one = limit * Math.ceil(lengthMs / keptMs);
      const ends = Math.ceil((lengthMs - 1) / windowMs);
      if (align === 'clock' || policy.algorithm === 'slidingCounter') return limit * (ends + 1);
      return align === 'first-hit' ? Math.max(one, limit * (ends + 1) - 1) : one;
    },
  };
}

/** The policies whose waits are long enough for every request of a pair: of buckets, the slower one with the room of the smaller. */
function slowest(...pair: readonly [Counted, Counted]): readonly Policy[] {
  const [slow, fast] = pair.toSorted((one, other) => one.rate - other.rate).map(({ policy }) => policy) as [
    Policy,
    Policy,
  ];
  if ('capacity' in slow && 'capacity' in fast) {
    const overdraft = Math.min(slow.overdraft, fast.overdraft);
    return [{ ...slow, capacity: Math.min(slow.capacity, fast.capacity), overdraft }];
  }
  if (!('maxDelayMs' in slow && 'maxDelayMs' in fast)) return [slow, fast];
  const room = Math.min(...[slow, fast].map(({ maxDelayMs, limit, windowMs }) => (maxDelayMs * limit) / windowMs));
  return [{ ...slow, maxDelayMs: Math.floor((room * slow.windowMs) / slow.limit) }];
}

/** Random requests of two policies for one key, beside what each policy alone would have counted. */
class Turns {
  readonly #store = new ProgramStore();
  readonly #random: Random;
  readonly #long: Counted;
  readonly #short: Counted;
  #models: readonly Model[] = [];
  #taken: { readonly at: number; readonly units: number }[] = [];
  /** When the longer one last took units; -1 before its first turn on an unused key. */
  #longAt = -1;
  #edges: readonly number[] = [];

  constructor(random: Random, one: Counted, other: Counted) {
    [this.#short, this.#long] = one.windowMs < other.windowMs ? [one, other] : [other, one];
    this.#random = random;
    this.#store.clock.atMs = START + random.integer(0, 1e6);
  }

  /** By how much more was allowed, in an interval until now, than one of them alone allows; and by how much a wait was too long. */
  step(): { readonly beyond: number; readonly lateMs: number } {
    const [random, clock] = [this.#random, this.#store.clock];
    const [long, short] = [this.#long, this.#short];
    const spans = [Math.ceil(short.windowMs / 5), short.windowMs, Math.ceil(long.windowMs / 3)] as const;
    clock.advance(random.pick([0, 0, 1, ...spans, ...this.#edges]));
    const now = clock.atMs;
    this.#forget(now);
    const by = random.pick([long, short]);
    const units = random.pick([1, 1, 2, by.limit, Math.ceil(by.limit / 2)]);
    const waits = this.#models.map((model) => waitFor(model, units, now));
    const due = waits.includes(-1) ? Infinity : Math.max(...waits);
    const told = this.#store.ask('take', by.policy, units);
    const wait = told[RETRY_AFTER] ?? 0;
    this.#edges = [wait, wait - 1, told[RESET_AFTER] ?? 0, told[NEXT_AFTER] ?? 0].filter((ms) => ms > 0 && ms < 1e10);
    if (told[ALLOWED] !== 1) return { beyond: 0, lateMs: wait - due };
    for (const model of this.#models) model.take(units, now);
    if (by === long) this.#longAt = now;
    this.#taken.push({ at: now, units });
    return { beyond: this.#beyond(now), lateMs: 0 };
  }

  /** What the laws do not span. */
  #forget(now: number): void {
    const [{ algorithm }, { windowMs }] = [this.#long.policy, this.#long];
    const held = this.#store.keys.get('one');
    if (held === undefined || readEnd(held) <= now) {
      this.#models = slowest(this.#long, this.#short).map(modelOf);
      [this.#taken, this.#longAt] = [[], -1];
    }
    // What the shorter one no longer counts when the longer one first comes is forgotten.
    if (this.#longAt < 0) this.#taken = this.#taken.filter(({ at }) => at > now - this.#short.windowMs);
    // Fixed windows and counters: a longer one bounds no window in which it takes nothing.
    const lapses = algorithm === 'fixedWindow' || algorithm === 'slidingCounter';
    if (lapses && this.#longAt <= now - windowMs) this.#taken = [];
  }

  #beyond(now: number): number {
    let units = 0;
    const both = [this.#long, this.#short];
    const burst = Math.max(...both.map((one) => one.burst));
    const beyond = this.#taken.toReversed().map((taken) => {
      units += taken.units;
      const lengthMs = now - taken.at + 1;
      return units - burst - Math.max(...both.map(({ mostIn }) => mostIn(lengthMs)));
    });
    return Math.max(...beyond);
  }
}

type Kind = Exclude<KindName, 'concurrency'>;

const STEPS = 60;
/**
 * Whether the start of a longer window is known. Of two alignments it is not: it begins with the shorter one. By its first
 * unit, it is taken to be on the clock if it began there by chance, of which there is little in a long one.
 */
function isStartKnown(one: Counted, other: Counted): boolean {
  return one.align === other.align && (one.align !== 'first-hit' || Math.max(one.windowMs, other.windowMs) >= 60_000);
}

describe('two policies of one kind that take turns on a key, in any order', () => {
  it.each<[Kind, spare: (one: Counted, other: Counted) => number, slackMs: (one: Counted, other: Counted) => number]>([
    ['slidingLog', () => 0, () => 0],
    // A debt is rounded up to a millisecond at each turn.
    ['tokenBucket', () => 0, () => STEPS],
    ['leakyBucket', () => 1, () => STEPS],
    // A turn may begin a period afresh.
    ['intervalBucket', () => 2, (one, other) => Math.max(one.blockMs, other.blockMs)],
    // The units of each come back up to a block of the other late.
    ['slidingWindow', () => 0, (one, other) => one.blockMs + other.blockMs],
    // The first turn of a shorter window does not know when in the longer one its units came.
    [
      'fixedWindow',
      (one, other) => Math.min(one.limit, other.limit),
      (one, other) => (isStartKnown(one, other) ? Math.min(one.windowMs, other.windowMs) : Infinity),
    ],
    ['slidingCounter', () => 0, (one, other) => 2 * Math.min(one.windowMs, other.windowMs)],
  ])('allow no more than one of the two, and let none wait longer than the slower: %s', (kind, spare, slackMs) => {
    const random = seeded(seed);
    for (let trace = 0; trace < cases(300); trace++) {
      const [one, other] = [counted(anyPolicy(random, kind, false)), counted(anyPolicy(random, kind, false))];
      if (one.windowMs === other.windowMs || one.limit === 0 || other.limit === 0) continue;
      const turns = new Turns(random, one, other);
      for (let step = 0; step < STEPS; step++) {
        const { beyond, lateMs } = turns.step();

        expect(beyond).toBeLessThanOrEqual(spare(one, other));
        expect(lateMs).toBeLessThanOrEqual(slackMs(one, other));
      }
    }
  });

  it('keep their pace on one key for a day, in bounded states: sliding logs', () => {
    const [long, short] = [slidingLog({ limit: 1_000, window: '30d' }), slidingLog({ limit: 5, window: '1m' })];
    const store = new ProgramStore();
    store.ask('take', long);
    let allowed = 0;
    for (let minute = 0; minute < 1_440; minute++) {
      store.clock.advance(60_000);
      for (let unit = 0; unit < 6; unit++) allowed += store.ask('take', short)[ALLOWED] ?? 0;
    }

    expect(allowed).toBe(5 * 1_440);
    expect(store.state?.length).toBeLessThanOrEqual(3_100);
  });

  it.each(NAMES)('tell honest waits, for every pair of numbers and every order: %s', (kind) => {
    const random = seeded(seed);
    for (let trace = 0; trace < cases(150); trace++) {
      const one = anyPolicy(random, kind);
      const pair = [one, trace % 3 === 0 ? one : anyPolicy(random, kind)] as const;
      const store = new ProgramStore();
      store.clock.advance(random.integer(0, 1e9));
      for (let step = 0; step < 40; step++) {
        store.clock.advance(random.pick([0, 1, 7, 99, 1_000, 30_000]));
        const ask = [random.pick(pair), random.pick([1, 1, 2, 5]), { holder: step + 1 }] as const;
        const wait = store.ask('take', ...ask)[RETRY_AFTER] ?? 0;
        if (wait <= 0) continue;
        store.clock.advance(wait - 1);
        expect(store.ask('peek', ...ask)[ALLOWED]).toBe(0);
        store.clock.advance(1);
        expect(store.ask('peek', ...ask)[ALLOWED]).toBe(1);
        store.clock.advance(-wait);
      }
    }
  });

  const largest = { capacity: 1e15 - 1, refill: 1, every: '1ms', mode: 'interval' } as const;
  const slow = { capacity: 1, refill: 1, every: '30d' } as const;
  it.each([
    ['buckets', tokenBucket({ capacity: 4e12, refill: 4e12, every: '1s' }), tokenBucket(slow)],
    ['buckets refilled at intervals', tokenBucket(largest), tokenBucket({ ...slow, mode: 'interval' })],
    ['fixed windows', fixedWindow({ limit: 1e15 - 1, window: '1ms' }), fixedWindow({ limit: 1, window: '30d' })],
    ['sliding counters', slidingCounter({ limit: 1e12, window: '1s' }), slidingCounter({ limit: 1, window: '30d' })],
    ['sliding windows', slidingWindow({ limit: 1e15 - 1, window: '1ms' }), slidingWindow({ limit: 1, window: '30d' })],
  ])('keep exact figures with the largest numbers beside the smallest: %s', (_, large, small) => {
    const random = seeded(seed);
    const store = new ProgramStore();
    for (let step = 0; step < 300; step++) {
      const [policy, other] = random.pick([
        [large, small],
        [small, large],
      ]);
      const cost = compile(random.pick([policy, other])).limit;
      const figures = store.ask(random.pick(['take', 'charge', 'charge', 'give']), policy, cost);
      expect(figures.every(Number.isSafeInteger)).toBe(true);
      expect([...store.keys.values()].every(({ rule, s }) => s.length === 0 || rule.family.reads(s))).toBe(true);
      store.clock.advance(random.pick([0, 1, 1_000]));
    }
  });
});
