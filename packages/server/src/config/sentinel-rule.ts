import { slidingWindow } from '@sluice/core';
import type { Limit } from '@sluice/core/spi';
import type { MakeLimit } from '../limits.ts';
import type { SentinelNumbers } from './configuration-data.ts';

/** How many limits of a rule are kept: one for each number of clients, and each threshold of a value. */
const MAX_LIMITS = 256;
/** The largest limit of a policy. */
const MAX_UNITS = 999_999_999_999_999;
/** Undoes rounding errors: 0.29 * 100 is slightly below 29. */
const ERROR = 1e-9;

/** A rule of Sentinel whose units are counted in sliding windows, and its limits. */
export class SentinelRule {
  readonly numbers: SentinelNumbers;
  /** Its name in metrics. */
  readonly name: string;
  readonly #makeLimit: MakeLimit;
  readonly #limits = new Map<number, Limit>();

  /** @throws PolicyError if the numbers do not make a valid limit. */
  constructor(numbers: SentinelNumbers, makeLimit: MakeLimit) {
    this.numbers = numbers;
    this.name = `${numbers.values === undefined ? 'flow' : 'param'}-${String(numbers.flowId)}`;
    this.#makeLimit = makeLimit;
    this.limit(1);
  }

  /**
   * The limit now. All limits of a rule share one state, so that no counts are lost when a client connects or leaves.
   *
   * @param clients - The connected clients of its namespace.
   * @param value - The parameter, as `formatParameter` writes it.
   */
  limit(clients: number, value?: string): Limit {
    const { count, perClient, windowIntervalMs: window, sampleCount, values } = this.numbers;
    const perSecond = (value === undefined ? undefined : values?.get(value)) ?? count;
    const exact = (perClient ? perSecond * clients : perSecond) * (window / 1000);
    const limit = Math.min(Math.floor(exact + ERROR), MAX_UNITS);
    const known = this.#limits.get(limit);
    if (known !== undefined) return known;
    const precision = window / sampleCount;
    const made = this.#makeLimit(slidingWindow({ name: this.name, limit, window, precision }));
    if (this.#limits.size >= MAX_LIMITS) this.#limits.clear();
    this.#limits.set(limit, made);
    return made;
  }
}
