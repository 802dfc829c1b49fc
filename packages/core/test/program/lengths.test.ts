import { describe, expect, it } from '@jest/globals';
import { cases, seeded, testSeed, type Random } from '@sluice/testkit';
import type { Policy } from '../../src/policies/index.ts';
import { slidingLog } from '../../src/policies/sliding-log.ts';
import { slidingWindow } from '../../src/policies/sliding-window.ts';
import { ALLOWED, NEXT_AFTER, RESET_AFTER, RETRY_AFTER } from '../../src/program/decide.ts';
import { readEnd } from '../../src/stores/perform.ts';
import { anyPolicy } from './any-policy.ts';
import { modelOf, waitFor, type Model } from './models.ts';
import { ProgramStore, START } from './stores.ts';

const seed = testSeed(20_261_129);
const KINDS = ['fixedWindow', 'slidingWindow', 'slidingCounter', 'slidingLog'] as const;

/** A policy that counts the units of a window. */
interface Windowed {
  readonly policy: Policy;
  readonly limit: number;
  readonly windowMs: number;
  /** Of a fixed window. */
  readonly align: string | undefined;
  /** Of a sliding window. */
  readonly blockMs: number;
  /** The most units that it allows alone in any interval of this length. */
  mostIn(lengthMs: number): number;
}

interface Numbers {
  readonly algorithm: string;
  readonly limit: number;
  readonly windowMs: number;
  readonly precisionMs?: number;
  readonly align?: 'clock' | 'first-hit';
}

function windowed(policy: Policy): Windowed {
  const { limit, windowMs, precisionMs = windowMs, align, algorithm } = policy as unknown as Numbers;
  const keptMs = Math.ceil(windowMs / precisionMs) * precisionMs;
  const ends = (lengthMs: number): number => Math.ceil((lengthMs - 1) / windowMs);
  return {
    policy,
    limit,
    windowMs: keptMs,
    align,
    blockMs: precisionMs,
    mostIn(lengthMs) {
      const one = limit * Math.ceil(lengthMs / keptMs);
      if (align === 'clock' || algorithm === 'slidingCounter') return limit * (ends(lengthMs) + 1);
      return align === 'first-hit' ? Math.max(one, limit * (ends(lengthMs) + 1) - 1) : one;
    },
  };
}

/** Random requests of two policies for one key, beside what each policy alone would have counted. */
class Turns {
  readonly #store = new ProgramStore();
  readonly #random: Random;
  readonly #long: Windowed;
  readonly #short: Windowed;
  #models: readonly Model[] = [];
  #taken: { readonly at: number; readonly units: number }[] = [];
  /** When the longer one last took units; -1 before its first turn on an unused key. */
  #longAt = -1;
  #edges: readonly number[] = [];

  constructor(random: Random, one: Windowed, other: Windowed) {
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
    const [told = []] = this.#store.perform('take', [{ key: 'one', policy: by.policy, cost: units }]).figures;
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
      this.#models = [modelOf(this.#long.policy), modelOf(this.#short.policy)];
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
    const beyond = this.#taken.toReversed().map((taken) => {
      units += taken.units;
      const lengthMs = now - taken.at + 1;
      return units - Math.max(this.#long.mostIn(lengthMs), this.#short.mostIn(lengthMs));
    });
    return Math.max(...beyond);
  }
}

type Kind = (typeof KINDS)[number];

/** Random pairs with windows of two lengths, and random turns of each. */
function play(kind: Kind, check: (turn: ReturnType<Turns['step']>, one: Windowed, other: Windowed) => void): void {
  const random = seeded(seed);
  for (let trace = 0; trace < cases(300); trace++) {
    const [one, other] = [windowed(anyPolicy(random, kind, false)), windowed(anyPolicy(random, kind, false))];
    if (one.windowMs === other.windowMs || one.limit === 0 || other.limit === 0) continue;
    const turns = new Turns(random, one, other);
    for (let step = 0; step < 60; step++) check(turns.step(), one, other);
  }
}

/**
 * Whether the start of a longer window is known. Of two alignments it is not: it begins with the shorter one. By its first
 * unit, it is taken to be on the clock if it began there by chance, of which there is little in a long one.
 */
function isStartKnown(one: Windowed, other: Windowed): boolean {
  return one.align === other.align && (one.align !== 'first-hit' || Math.max(one.windowMs, other.windowMs) >= 60_000);
}

describe('two policies of one kind with windows of two lengths that take turns on a key, in any order', () => {
  it.each(KINDS)('allow together, in any interval, no more than one of the two alone: %s', (kind) => {
    play(kind, ({ beyond }, one, other) => {
      // The first turn of a shorter fixed window does not know when in the longer one its units came.
      const most = kind === 'fixedWindow' ? Math.min(one.limit, other.limit) : 0;

      expect(beyond).toBeLessThanOrEqual(most);
    });
  });

  it.each([
    ['slidingLog', () => 0],
    // The units of each come back up to a block of the other late.
    ['slidingWindow', (one, other) => one.blockMs + other.blockMs],
    // The first turn of a shorter window does not know when in the longer one its units came.
    ['fixedWindow', (one, other) => (isStartKnown(one, other) ? Math.min(one.windowMs, other.windowMs) : Infinity)],
    ['slidingCounter', (one, other) => 2 * Math.min(one.windowMs, other.windowMs)],
  ] as readonly (readonly [Kind, (one: Windowed, other: Windowed) => number])[])(
    'let no request wait longer than one of the two that had counted all units: %s',
    (kind, slackMs) => {
      play(kind, ({ lateMs }, one, other) => {
        expect(lateMs).toBeLessThanOrEqual(slackMs(one, other));
      });
    },
  );

  it.each([
    ['logs', slidingLog({ limit: 1_000, window: '30d' }), slidingLog({ limit: 5, window: '1m' })],
    ['windows', slidingWindow({ limit: 1_000, window: '30d' }), slidingWindow({ limit: 5, window: '1m' })],
  ])('keep their pace on one key for a day, in bounded states: sliding %s', (_, long, short) => {
    const store = new ProgramStore();
    const take = (policy: Policy): number =>
      store.perform('take', [{ key: 'one', policy, cost: 1 }]).figures[0]?.[ALLOWED] ?? 0;
    take(long);
    let allowed = 0;
    for (let minute = 0; minute < 1_440; minute++) {
      store.clock.advance(60_000);
      for (let unit = 0; unit < 6; unit++) allowed += take(short);
    }

    expect(allowed).toBe(5 * 1_440);
    expect(store.keys.get('one')?.s.length).toBeLessThanOrEqual(3_100);
  });
});
