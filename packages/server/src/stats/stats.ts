import { Counter, Registry } from 'prom-client';
import type { PolicyDecision } from '@sluice/core';
import { collectMetrics } from '@sluice/core/metrics';
import { sumUp, type Siblings, type StatsReport } from './siblings.ts';

/** The result of one rule for one descriptor. */
export interface RuleDecision {
  readonly hits: number;
  readonly allowed: boolean;
  /** Whether a denial was only counted. */
  readonly isShadow: boolean;
  readonly policies: readonly PolicyDecision[];
  /** What decided: `cache` if this process repeated a denial. */
  readonly source: string;
}

/** envoyproxy/ratelimit's `near_limit`. */
const NEAR = 0.8;

/** Counters with the names of envoyproxy/ratelimit. */
const COUNTERS = {
  total_hits: 'Hits of a rule.',
  over_limit: 'Hits of a rule that were denied.',
  near_limit: 'Hits of a rule that were allowed with more than 0.8 of the limit used.',
  over_limit_with_local_cache: 'Hits of a rule that this process denied by itself.',
  within_limit: 'Hits of a rule that were allowed.',
  shadow_mode: 'Hits of a rule in shadow mode that would have been denied.',
} as const;
type Counts = Record<keyof typeof COUNTERS, number>;

/** The counters of the service: by rule, and core's metrics of its limiters. */
export class Stats {
  readonly #registry = new Registry();
  readonly #siblings: Siblings | undefined;
  /** By the names of rules, which the configuration bounds. */
  readonly #rules = new Map<string, Counts>();
  readonly #stop: () => void;
  readonly #loads: Counter;
  readonly #loadErrors: Counter;

  /** @param siblings - The other processes of the service. */
  constructor(siblings?: Siblings) {
    const registers = [this.#registry];
    const rules = this.#rules;
    this.#siblings = siblings;
    this.#stop = collectMetrics({ register: this.#registry });
    siblings?.offer(() => this.#report());
    for (const [name, help] of Object.entries(COUNTERS)) {
      new Counter({
        ...{ name: `sluice_rule_${name}_total`, help, labelNames: ['rule'], registers },
        // Formatted when read, so that a decision only adds numbers.
        collect() {
          this.reset();
          for (const [rule, counts] of rules) this.inc({ rule }, counts[name as keyof Counts]);
        },
      });
    }
    const [loaded, failed] = ['Configurations that were loaded.', 'Configurations that were not loaded.'];
    this.#loads = new Counter({ name: 'sluice_config_load_success_total', help: loaded, registers });
    this.#loadErrors = new Counter({ name: 'sluice_config_load_error_total', help: failed, registers });
  }

  /** Counts the decision of a rule, by its name in metrics. */
  count(rule: string, { hits, allowed, isShadow, policies, source }: RuleDecision): void {
    let counts = this.#rules.get(rule);
    if (counts === undefined) {
      counts = Object.fromEntries(Object.keys(COUNTERS).map((name) => [name, 0])) as Counts;
      this.#rules.set(rule, counts);
    }
    counts.total_hits += hits;
    if (allowed) {
      counts.within_limit += hits;
      if (policies.some(({ used, limit }) => used > limit * NEAR)) counts.near_limit += hits;
      return;
    }
    if (isShadow) counts.shadow_mode += hits;
    counts.over_limit += hits;
    if (source === 'cache') counts.over_limit_with_local_cache += hits;
  }

  loaded(): void {
    this.#loads.inc();
  }

  failedToLoad(): void {
    this.#loadErrors.inc();
  }

  /** The counts of every process of the service, in the format of Prometheus. */
  async metrics(): Promise<string> {
    return sumUp(this.#siblings === undefined ? [await this.#report()] : await this.#siblings.gather()).metrics();
  }

  close(): void {
    this.#stop();
  }

  #report(): Promise<StatsReport> {
    return this.#registry.getMetricsAsJSON();
  }
}
