import type { Decision, DecisionSource, PolicyDecision } from '@sluice/express';
import { Latencies } from './latencies.ts';

/** What became of the requests that one policy was asked about. */
export interface PolicyCounts {
  offered: number;
  /** Admitted by this policy and by those it is decided together with. */
  admitted: number;
  /** Refused by this policy; what only another one refused is in neither count. */
  refused: number;
  readonly latencies: Latencies;
}

/** Counts decisions, as `onDecision` tells of them. */
export class DecisionStatistics {
  readonly #byPolicy = new Map<string, PolicyCounts>();
  readonly #bySource = new Map<DecisionSource, number>();
  #latest: DecisionSource | undefined;

  record(decision: Decision, tookMs: number): void {
    this.#latest = decision.source;
    this.#bySource.set(decision.source, this.decidedBy(decision.source) + 1);
    for (const policy of decision.policies) this.#recordPolicy(policy, decision.allowed, tookMs);
  }

  of(policy: string): PolicyCounts {
    let counts = this.#byPolicy.get(policy);
    if (counts === undefined) {
      counts = { offered: 0, admitted: 0, refused: 0, latencies: new Latencies() };
      this.#byPolicy.set(policy, counts);
    }
    return counts;
  }

  decidedBy(source: DecisionSource): number {
    return this.#bySource.get(source) ?? 0;
  }

  /** Who made the latest decision. */
  get latestSource(): DecisionSource | undefined {
    return this.#latest;
  }

  #recordPolicy({ name, allowed }: PolicyDecision, admitted: boolean, tookMs: number): void {
    const counts = this.of(name);
    counts.offered++;
    if (admitted) counts.admitted++;
    if (!allowed) counts.refused++;
    counts.latencies.add(tookMs);
  }
}
