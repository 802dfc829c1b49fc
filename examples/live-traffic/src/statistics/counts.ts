import type { Decision, DecisionSource, PolicyDecision } from '@sluice/express';
import type { Answer } from '../clients/visitor.ts';

const SMALLEST_MS = 0.01;
const GROWTH = 1.1;
const BUCKETS = 200;

/**
 * Latencies in buckets that grow by a tenth, so that a run of days needs no more memory: quantiles are within 5 % from
 * 0.01 ms to half an hour.
 */
export class Latencies {
  readonly #counts = new Float64Array(BUCKETS);
  #total = 0;

  add(ms: number): void {
    const bucket = Math.floor(Math.log(Math.max(ms, SMALLEST_MS) / SMALLEST_MS) / Math.log(GROWTH));
    const at = Math.min(bucket, BUCKETS - 1);
    this.#counts[at] = (this.#counts[at] ?? 0) + 1;
    this.#total++;
  }

  /** The middle of the bucket that holds the quantile, in milliseconds; undefined before the first latency. */
  quantile(share: number): number | undefined {
    if (this.#total === 0) return undefined;
    let left = Math.ceil(share * this.#total);
    const bucket = this.#counts.findIndex((count) => (left -= count) <= 0);
    return SMALLEST_MS * GROWTH ** (bucket + 0.5);
  }
}

/** The outcomes of the requests that one policy decided. */
export interface PolicyCounts {
  offered: number;
  /** Allowed by this policy and by those it is decided together with. */
  allowed: number;
  /** Denied by this policy; requests that only another one denied are in neither count. */
  denied: number;
  readonly latencies: Latencies;
}

/** Counts decisions, from `onDecision`. */
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
      counts = { offered: 0, allowed: 0, denied: 0, latencies: new Latencies() };
      this.#byPolicy.set(policy, counts);
    }
    return counts;
  }

  decidedBy(source: DecisionSource): number {
    return this.#bySource.get(source) ?? 0;
  }

  /** The source of the latest decision. */
  get latestSource(): DecisionSource | undefined {
    return this.#latest;
  }

  #recordPolicy({ name, allowed }: PolicyDecision, wasAllowed: boolean, tookMs: number): void {
    const counts = this.of(name);
    counts.offered++;
    if (wasAllowed) counts.allowed++;
    if (!allowed) counts.denied++;
    counts.latencies.add(tookMs);
  }
}

/** The results of the clients of one kind: `sent` is the sum of the other three. */
export interface ClientCounts {
  sent: number;
  answered: number;
  denied: number;
  failed: number;
  readonly latencies: Latencies;
}

/** A denial as its client got it. */
export interface Denial {
  readonly kind: string;
  readonly answer: Answer;
}

/** Counts responses on the side of the clients. */
export class ClientStatistics {
  readonly #byKind = new Map<string, ClientCounts>();
  #denial: Denial | undefined;

  /** @param answer - Undefined when none came. */
  record(kind: string, answer: Answer | undefined): void {
    const counts = this.of(kind);
    counts.sent++;
    if (answer === undefined || answer.status === 403 || answer.status >= 500) counts.failed++;
    else if (answer.status === 429) counts.denied++;
    else counts.answered++;
    if (answer === undefined) return;
    counts.latencies.add(answer.tookMs);
    if (answer.status === 429 && answer.path === '/login') this.#denial ??= { kind, answer };
  }

  of(kind: string): ClientCounts {
    let counts = this.#byKind.get(kind);
    if (counts === undefined) {
      counts = { sent: 0, answered: 0, denied: 0, failed: 0, latencies: new Latencies() };
      this.#byKind.set(kind, counts);
    }
    return counts;
  }

  /** All kinds together. */
  total(count: 'sent' | 'answered' | 'denied' | 'failed'): number {
    let sum = 0;
    for (const counts of this.#byKind.values()) sum += counts[count];
    return sum;
  }

  /** The first denied login, as an example. */
  get denial(): Denial | undefined {
    return this.#denial;
  }
}
