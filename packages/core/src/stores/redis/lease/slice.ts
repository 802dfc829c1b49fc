import { DRIFT } from '../../../platform/clock.ts';
import { combine, decisionOfOne, type Decision, type PolicyDecision } from '../../../engine/decision.ts';
import { fittingUnits } from '../../../engine/consume-state.ts';
import type { Limit, KeyState } from '../../../engine/store.ts';
import { spentByMs } from '../../../engine/lease-policy.ts';

/** The store's answer to a request for units of one key: it has consumed as many as fit. */
export interface GrantReply {
  /** The store's instant of the decision. */
  readonly atMs: number;
  /** When the request was sent, by the monotonic clock of this process. */
  readonly sentMs: number;
  /** The key before the request. */
  readonly key: KeyState;
}

/** The units available under a key, now or as far as is known. */
export interface Grant {
  readonly units: number;
  /** The rest. */
  readonly left: number;
  /** The states after these units are consumed. */
  readonly states: readonly unknown[];
  /** The store's instant before which they must be spent. */
  readonly endMs: number;
  readonly shown: readonly ShownPolicy[];
}

/** The figures of one policy in decisions from a slice. Instants of the store's clock. */
export interface ShownPolicy {
  readonly name: string;
  readonly limit: number;
  readonly windowMs: number;
  /** When the units of the slice stop counting: identifies their window in refunds. */
  readonly untilMs: number;
  readonly nextAtMs: number;
}

/** The grant of a key in this state, for `count` units requested one by one. */
export function grantOf(
  limit: Limit,
  key: Pick<KeyState, 'blockedUntilMs' | 'states'>,
  count: number,
  atMs: number,
): Grant {
  const units = fittingUnits(limit, key, count, atMs);
  let endMs = Infinity;
  let left = Infinity;
  const states: unknown[] = [];
  const shown = limit.policies.map((named, j): ShownPolicy => {
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

/** Units consumed in the store in one call, and spent here. */
export class Slice {
  readonly size: number;
  left: number;
  /** Units given back. */
  returned = 0;
  /** The next slice is requested when this many units are left. */
  refreshAt: number;
  /** Spent before this instant of the monotonic clock. */
  readonly untilMs: number;
  /** Spent between these dates, because the monotonic clock stands still while a machine is suspended. */
  readonly sinceDateMs: number;
  readonly untilDateMs: number;
  readonly shown: readonly ShownPolicy[];
  readonly #atMs: number;
  readonly #sentMs: number;

  constructor({ units, endMs, shown }: Grant, { atMs, sentMs }: GrantReply, requested: Moment, maxAgeMs: number) {
    this.size = this.left = units;
    this.refreshAt = Math.floor(units / 2);
    this.shown = shown;
    this.#atMs = atMs;
    this.#sentMs = sentMs;
    // The latest that the store's clock can show by now is atMs + 1 + what has passed since sending, at the most drift.
    const lifeMs = (Math.min(endMs, atMs + maxAgeMs) - atMs - 2) / (1 + DRIFT);
    this.untilMs = sentMs + lifeMs;
    this.sinceDateMs = requested.dateMs;
    this.untilDateMs = requested.dateMs + (sentMs - requested.monotonicMs) + lifeMs - 1;
  }

  get spent(): number {
    return this.size - this.left - this.returned;
  }

  /** Takes out all units that are left, to give them back. */
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

  /** The estimated instant of the store. */
  instantAt(monotonicMs: number): number {
    return this.#atMs + Math.floor(monotonicMs - this.#sentMs);
  }

  /** The longest that it can have been held, by either clock. */
  ageAt(monotonicMs: number, dateMs: number): number {
    return Math.max(monotonicMs - this.#sentMs, dateMs + 1 - this.sinceDateMs);
  }

  /**
   * The decision that allows, after its cost was taken from this slice. `remaining` is what this process holds: no
   * other can take that, while others may have taken what the store has left.
   */
  decision(cost: number, monotonicMs: number): Decision {
    const { shown, left } = this;
    const atMs = this.#atMs + Math.floor(monotonicMs - this.#sentMs);
    const policies: PolicyDecision[] = [];
    for (let j = 0; j < shown.length; j++) {
      const { name, limit, windowMs, untilMs, nextAtMs } = shown[j] as ShownPolicy;
      policies.push({
        name,
        allowed: true,
        limit,
        remaining: left,
        retryAfterMs: 0,
        resetAfterMs: Math.max(untilMs - atMs, 0),
        delayMs: 0,
        windowMs,
        nextAfterMs: Math.max(nextAtMs - atMs, 1),
        used: limit - left,
      });
    }
    return policies.length === 1
      ? decisionOfOne(policies[0] as PolicyDecision, cost, 'lease', atMs)
      : combine(policies, { cost, blocked: false, source: 'lease', atMs });
  }
}
