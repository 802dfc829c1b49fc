import { Counter, Registry } from 'prom-client';
import { collectMetrics } from '@sluice/old-core/metrics';
import type { Siblings } from './siblings.ts';
import type { StatsReport } from './stats-report.ts';

/** The result of one rule for one descriptor. */
export interface RuleDecision {
  readonly hits: number;
  readonly allowed: boolean;
  /** Whether a denial was only noted. */
  readonly isShadow: boolean;
  /** Whether, after the decision, more than 0.8 of the limit is used. */
  readonly isNear: boolean;
  /** Whether this process knew the denial by itself. */
  readonly isCached: boolean;
}

/** As envoyproxy/ratelimit names them. */
const COUNTERS = {
  total_hits: 'Hits of a rule.',
  over_limit: 'Hits of a rule that were denied.',
  near_limit: 'Hits of a rule that were allowed with more than 0.8 of the limit used.',
  over_limit_with_local_cache: 'Hits of a rule that this process denied by itself.',
  within_limit: 'Hits of a rule that were allowed.',
  shadow_mode: 'Hits of a rule in shadow mode that would have been denied.',
} as const;
type CounterName = keyof typeof COUNTERS;
const NAMES = Object.keys(COUNTERS) as CounterName[];

/**
 * The names of rules are bounded by the configuration; this is for a configuration that is larger than it should be.
 */
const MOST_RULES = 10_000;
const OTHER = 'other';

type Counts = Record<CounterName, number>;

/** The counters of the service: by rule, and what core counts of its limiters. */
export class Stats {
  readonly #registry = new Registry();
  readonly #siblings: Siblings | undefined;
  readonly #rules = new Map<string, Counts>();
  readonly #stop: () => void;
  #loads = 0;
  #loadErrors = 0;

  /** @param siblings - The other processes of the service. */
  constructor(siblings?: Siblings) {
    this.#siblings = siblings;
    const stopMetrics = collectMetrics({ register: this.#registry });
    const stopOffer = siblings?.offer(() => this.#report());
    this.#stop = () => {
      stopMetrics();
      stopOffer?.();
    };
    for (const name of NAMES) this.#register(name);
    this.#registerLoads('sluice_config_load_success_total', 'Configurations that were loaded.', () => this.#loads);
    this.#registerLoads(
      'sluice_config_load_error_total',
      'Configurations that were not loaded.',
      () => this.#loadErrors,
    );
  }

  /** Counts the decision of a rule, by its name in metrics. Allocates nothing for a rule that is known. */
  count(rule: string, { hits, allowed, isShadow, isNear, isCached }: RuleDecision): void {
    const counts = this.#countsOf(rule);
    counts.total_hits += hits;
    if (allowed) {
      counts.within_limit += hits;
      if (isNear) counts.near_limit += hits;
      return;
    }
    if (isShadow) counts.shadow_mode += hits;
    counts.over_limit += hits;
    if (isCached) counts.over_limit_with_local_cache += hits;
  }

  loaded(): void {
    this.#loads++;
  }

  failedToLoad(): void {
    this.#loadErrors++;
  }

  /** The counts of every process of the service. */
  async reports(): Promise<readonly StatsReport[]> {
    return this.#siblings === undefined ? [await this.#report()] : this.#siblings.gather();
  }

  close(): void {
    this.#stop();
  }

  #report(): Promise<StatsReport> {
    return this.#registry.getMetricsAsJSON();
  }

  #countsOf(rule: string): Counts {
    const known = this.#rules.get(rule);
    if (known !== undefined) return known;
    if (this.#rules.size >= MOST_RULES && rule !== OTHER) return this.#countsOf(OTHER);
    const counts = Object.fromEntries(NAMES.map((name) => [name, 0])) as Counts;
    this.#rules.set(rule, counts);
    return counts;
  }

  /** Counters are written when they are read, so that a decision adds numbers and does nothing else. */
  #register(name: CounterName): void {
    const rules = this.#rules;
    new Counter({
      name: `sluice_rule_${name}_total`,
      help: COUNTERS[name],
      labelNames: ['rule'],
      registers: [this.#registry],
      collect() {
        this.reset();
        for (const [rule, counts] of rules) this.inc({ rule }, counts[name]);
      },
    });
  }

  #registerLoads(name: string, help: string, value: () => number): void {
    new Counter({
      name,
      help,
      registers: [this.#registry],
      collect() {
        this.reset();
        this.inc(value());
      },
    });
  }
}
