import { slidingWindow } from '@sluice/old-core';
import { LARGEST_LIMIT, encodeSubject, type LimitRef } from '@sluice/old-core/spi';
import type { LimitOf, SentinelNumbers, SentinelRule } from './configuration.ts';

/** Limits of one rule that are kept: one for each number of clients, and each threshold of a value. */
const MOST_LIMITS = 256;
/** Undoes errors of doubles: 0.29 * 100 is a little below 29. */
const ERROR = 1e-9;

/** A rule whose units are counted in sliding windows. */
export class ClusterRule implements SentinelRule {
  readonly numbers: SentinelNumbers;
  readonly name: string;
  readonly subject: string;
  readonly #limitOf: LimitOf;
  readonly #limits = new Map<number, LimitRef>();

  /** @throws PolicyError where the numbers make no limit. */
  constructor(numbers: SentinelNumbers, limitOf: LimitOf) {
    this.numbers = numbers;
    this.name = `${numbers.values === undefined ? 'flow' : 'param'}-${String(numbers.flowId)}`;
    this.subject = encodeSubject(numbers.resource);
    this.#limitOf = limitOf;
    this.limit(1);
  }

  limit(clients: number, value?: string): LimitRef {
    const { count, perClient, windowIntervalMs, values } = this.numbers;
    const perSecond = (value === undefined ? undefined : values?.get(value)) ?? count;
    const exact = (perClient ? perSecond * clients : perSecond) * (windowIntervalMs / 1000);
    const units = Math.min(Math.floor(exact + ERROR), LARGEST_LIMIT);
    const known = this.#limits.get(units);
    if (known !== undefined) return known;
    const made = this.#made(units);
    if (this.#limits.size >= MOST_LIMITS) this.#limits.clear();
    this.#limits.set(units, made);
    return made;
  }

  #made(limit: number): LimitRef {
    const { windowIntervalMs: window, sampleCount } = this.numbers;
    const policy = slidingWindow({ name: this.name, limit, window, precision: window / sampleCount });
    return this.#limitOf(policy, this.name);
  }

  written(): string {
    const { resource, namespace, count, perClient, windowIntervalMs, sampleCount, values } = this.numbers;
    const threshold = perClient ? 'per client' : 'global';
    const exceptions = values === undefined ? '' : `, ${String(values.size)} values of their own`;
    return `resource=${resource}, namespace=${namespace}, count=${String(count)} ${threshold}, ${String(windowIntervalMs)} ms in ${String(sampleCount)}${exceptions}`;
  }
}
