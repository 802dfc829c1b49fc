import type { KeyState } from '../evaluate.ts';
import type { Limit } from '../store.ts';
import { WaitingRun } from './runs-batch.ts';
import type { Sent } from './waiting.ts';

/** What became of so many equal requests. */
export interface RunAnswer extends Sent {
  /** The store's clock when it decided. */
  readonly atMs: number;
  /** The key as it stood before. */
  readonly key: KeyState;
}

/** So many equal requests as one: their answer is the key as it stood before, which says how many of them were admitted. */
export class WaitingAnswer extends WaitingRun {
  readonly #resolve: (answer: RunAnswer) => void;
  readonly #reject: (error: unknown) => void;

  constructor(
    run: { readonly limit: Limit; readonly subject: string; readonly cost: number; readonly count: number },
    timeoutMs: number,
    resolve: (answer: RunAnswer) => void,
    reject: (error: unknown) => void,
  ) {
    super(run.limit, run.subject, run.cost, run.count, timeoutMs);
    this.#resolve = resolve;
    this.#reject = reject;
  }

  decide(key: KeyState, atMs: number, sent: Sent | undefined): void {
    const before = { ...key };
    const { policies } = this.limit;
    let fitting = key.blockedUntilMs > atMs ? 0 : this.count;
    policies.forEach(({ algorithm, policy }, j) => {
      const { remaining } = algorithm.kernel(policy, key.states[j], 0, atMs).verdict;
      fitting = Math.min(fitting, Math.floor(remaining / this.cost));
    });
    if (fitting > 0) {
      const units = fitting * this.cost;
      key.states = policies.map(
        ({ algorithm, policy }, j) => algorithm.kernel(policy, key.states[j], units, atMs).state,
      );
      key.blockedUntilMs = 0;
    }
    if (sent !== undefined) this.#resolve({ atMs, key: before, ...sent });
  }

  fail(error: unknown): void {
    this.#reject(error);
  }
}
