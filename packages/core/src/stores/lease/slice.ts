import type { Decision, PolicyDecision } from '../../decision.ts';
import type { NamedPolicy } from '../../policy.ts';
import type { KeyState } from '../evaluate.ts';
import { DRIFT } from '../local-clocks.ts';
import type { Limit } from '../store.ts';
import { spentByMs } from './lease-policy.ts';

/** What a store answers that was asked for so many equal requests of one key: as many were taken as fit. */
export interface Run {
  /** The store's instant. */
  readonly atMs: number;
  /** When it was sent, by the monotonic clock of this process. */
  readonly sentMs: number;
  /** The key as it was before. */
  readonly key: KeyState;
}

/** What can be had of a key: now, or as far as was known. */
export interface Grant {
  readonly units: number;
  /** What is left beside them. */
  readonly left: number;
  /** The states, when that many have been taken. */
  readonly states: readonly unknown[];
  /** By when, on the store's clock, they must be spent: exclusive. */
  readonly endMs: number;
  readonly shown: readonly ShownPolicy[];
}

/** What decisions from a slice say of one policy. Instants of the store's clock. */
export interface ShownPolicy {
  readonly name: string;
  readonly limit: number;
  readonly windowMs: number;
  /** When the units of the slice stop counting; for refunds, which window they were charged to. */
  readonly untilMs: number;
  readonly nextAtMs: number;
}

/** What is got of a key in this state, of so many units asked for one by one. */
export function grantOf(
  { policies }: Limit,
  key: Pick<KeyState, 'blockedUntilMs' | 'states'>,
  asked: number,
  atMs: number,
): Grant {
  let units = key.blockedUntilMs > atMs ? 0 : asked;
  for (let j = 0; j < policies.length; j++) {
    const { algorithm, policy } = policies[j] as NamedPolicy;
    units = Math.min(units, algorithm.kernel(policy, key.states[j], 0, atMs).verdict.remaining);
  }
  let endMs = Infinity;
  let left = Infinity;
  const states: unknown[] = [];
  const shown = policies.map((named, j): ShownPolicy => {
    const { name, algorithm, policy, windowMs } = named;
    const { state, verdict } = algorithm.kernel(policy, key.states[j], units, atMs);
    const untilMs = atMs + verdict.resetAfterMs;
    states.push(state);
    left = Math.min(left, verdict.remaining);
    if (units > 0) endMs = Math.min(endMs, spentByMs(named, untilMs));
    return { name, limit: verdict.limit, windowMs, untilMs, nextAtMs: atMs + (verdict.nextAfterMs ?? 0) };
  });
  return { units, left, states, endMs, shown };
}

/** An instant of this process, by both of its clocks. */
export interface Moment {
  readonly monotonicMs: number;
  readonly dateMs: number;
}

/** Units that were taken from the store in one call, and are spent here. */
export class Slice {
  readonly size: number;
  left: number;
  /** Units of it that were given back. */
  returned = 0;
  /** At so many left the next one is asked for. */
  refreshAt: number;
  /** Spent before this instant of the monotonic clock, */
  readonly untilMs: number;
  /** and while the date lies between these: the monotonic clock stands still while a machine is suspended. */
  readonly sinceDateMs: number;
  readonly untilDateMs: number;
  readonly shown: readonly ShownPolicy[];
  readonly #atMs: number;
  readonly #sentMs: number;
  /** Which policy decides while something is left: as every policy admits as much, the one that admits the smallest share of its limit. */
  readonly #tightest: ShownPolicy;

  constructor({ units, endMs, shown }: Grant, { atMs, sentMs }: Run, asked: Moment, maxAgeMs: number) {
    this.size = this.left = units;
    this.refreshAt = Math.floor(units / 2);
    this.shown = shown;
    this.#atMs = atMs;
    this.#sentMs = sentMs;
    this.#tightest = shown.reduce((tightest, policy) => (policy.limit > tightest.limit ? policy : tightest));
    // The latest that the store's clock can show by now is atMs + 1 + what has passed since sending, at the most drift.
    const lifeMs = (Math.min(endMs, atMs + maxAgeMs) - atMs - 2) / (1 + DRIFT);
    this.untilMs = sentMs + lifeMs;
    this.sinceDateMs = asked.dateMs;
    this.untilDateMs = asked.dateMs + (sentMs - asked.monotonicMs) + lifeMs - 1;
  }

  get spent(): number {
    return this.size - this.left - this.returned;
  }

  /** What is left, to be given back: nothing is left then. */
  takeBack(): number {
    const { left } = this;
    this.returned += left;
    this.left = 0;
    return left;
  }

  /** Whether it may be spent at this instant of both clocks. */
  isLive(monotonicMs: number, dateMs: number): boolean {
    return monotonicMs < this.untilMs && dateMs < this.untilDateMs && dateMs >= this.sinceDateMs;
  }

  /** The store's instant, as far as can be told. */
  instantAt(monotonicMs: number): number {
    return this.#atMs + Math.floor(monotonicMs - this.#sentMs);
  }

  /** How long it has been held, at most: by the clock that says more. */
  ageAt(monotonicMs: number, dateMs: number): number {
    return Math.max(monotonicMs - this.#sentMs, dateMs + 1 - this.sinceDateMs);
  }

  /**
   * The decision that admits, after its cost was taken from here. What remains is what this process holds: nobody can take
   * that, and what the store holds beside it others may have taken.
   */
  decision(cost: number, monotonicMs: number): Decision {
    const { shown, left } = this;
    const atMs = this.#atMs + Math.floor(monotonicMs - this.#sentMs);
    let resetAfterMs = 0;
    const policies: PolicyDecision[] = [];
    for (let j = 0; j < shown.length; j++) {
      const { name, limit, windowMs, untilMs, nextAtMs } = shown[j] as ShownPolicy;
      const ownResetMs = Math.max(untilMs - atMs, 0);
      if (ownResetMs > resetAfterMs) resetAfterMs = ownResetMs;
      policies.push({
        name,
        allowed: true,
        limit,
        remaining: left,
        retryAfterMs: 0,
        resetAfterMs: ownResetMs,
        delayMs: 0,
        windowMs,
        nextAfterMs: Math.max(nextAtMs - atMs, 1),
      });
    }
    const { name, limit } = left === 0 ? (shown[0] as ShownPolicy) : this.#tightest;
    return {
      allowed: true,
      outcome: 'allowed',
      policy: name,
      cost,
      limit,
      remaining: left,
      retryAfterMs: 0,
      resetAfterMs,
      delayMs: 0,
      source: 'lease',
      atMs,
      policies,
    };
  }
}
