import { slidingWindow } from '@sluice/core';
import type { Limit } from '@sluice/core/spi';
import type { MakeLimit } from '../limits.ts';
import type { SentinelNumbers, SentinelRule } from './configuration.ts';

/** Limits of one rule that are kept: one for each number of clients, and each threshold of a value. */
const MOST_LIMITS = 256;
/** The largest limit of a policy. */
const MAX_UNITS = 999_999_999_999_999;
/** Undoes errors of doubles: 0.29 * 100 is a little below 29. */
const ERROR = 1e-9;

/** A rule whose units are counted in sliding windows. */
export class ClusterRule implements SentinelRule {
  readonly numbers: SentinelNumbers;
  readonly name: string;
  readonly #makeLimit: MakeLimit;
  readonly #limits = new Map<number, Limit>();

  /** @throws PolicyError where the numbers make no limit. */
  constructor(numbers: SentinelNumbers, makeLimit: MakeLimit) {
    this.numbers = numbers;
    this.name = `${numbers.values === undefined ? 'flow' : 'param'}-${String(numbers.flowId)}`;
    this.#makeLimit = makeLimit;
    this.limit(1);
  }

  limit(clients: number, value?: string): Limit {
    const { count, perClient, windowIntervalMs, values } = this.numbers;
    const perSecond = (value === undefined ? undefined : values?.get(value)) ?? count;
    const exact = (perClient ? perSecond * clients : perSecond) * (windowIntervalMs / 1000);
    const units = Math.min(Math.floor(exact + ERROR), MAX_UNITS);
    const known = this.#limits.get(units);
    if (known !== undefined) return known;
    const made = this.#made(units);
    if (this.#limits.size >= MOST_LIMITS) this.#limits.clear();
    this.#limits.set(units, made);
    return made;
  }

  #made(limit: number): Limit {
    const { windowIntervalMs: window, sampleCount } = this.numbers;
    const policy = slidingWindow({ name: this.name, limit, window, precision: window / sampleCount });
    return this.#makeLimit(policy);
  }

  written(): string {
    const { resource, namespace, count, perClient, windowIntervalMs, sampleCount, values } = this.numbers;
    const threshold = perClient ? 'per client' : 'global';
    const exceptions = values === undefined ? '' : `, ${String(values.size)} values of their own`;
    return `resource=${resource}, namespace=${namespace}, count=${String(count)} ${threshold}, ${String(windowIntervalMs)} ms in ${String(sampleCount)}${exceptions}`;
  }
}
