import type { Answer } from './http-client.ts';
import { Latencies } from './latencies.ts';

/** What the clients of one kind got: `sent` is the sum of the other three. */
export interface ClientCounts {
  sent: number;
  answered: number;
  refused: number;
  failed: number;
  readonly latencies: Latencies;
}

/** A refusal as its client got it. */
export interface Refusal {
  readonly kind: string;
  readonly answer: Answer;
}

/** Counts answers, as the clients see them. */
export class ClientStatistics {
  readonly #byKind = new Map<string, ClientCounts>();
  #refusal: Refusal | undefined;

  /** @param answer - Undefined when none came. */
  record(kind: string, answer: Answer | undefined): void {
    const counts = this.of(kind);
    counts.sent++;
    if (answer === undefined || answer.status === 403 || answer.status >= 500) counts.failed++;
    else if (answer.status === 429) counts.refused++;
    else counts.answered++;
    if (answer === undefined) return;
    counts.latencies.add(answer.tookMs);
    if (answer.status === 429 && answer.path === '/login') this.#refusal ??= { kind, answer };
  }

  of(kind: string): ClientCounts {
    let counts = this.#byKind.get(kind);
    if (counts === undefined) {
      counts = { sent: 0, answered: 0, refused: 0, failed: 0, latencies: new Latencies() };
      this.#byKind.set(kind, counts);
    }
    return counts;
  }

  /** All kinds together. */
  total(count: 'sent' | 'answered' | 'refused' | 'failed'): number {
    let sum = 0;
    for (const counts of this.#byKind.values()) sum += counts[count];
    return sum;
  }

  /** The first refused login: something to show. */
  get refusal(): Refusal | undefined {
    return this.#refusal;
  }
}
