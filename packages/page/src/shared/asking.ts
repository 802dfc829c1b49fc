import { withinDeadline } from '@sluice/old-core/spi';
import type { RedisPages } from './redis-pages.ts';

/** A place that takes longer has no answer. */
export const LONG_MS = 2_000;

/** Asks each place of Redis for the same thing, and knows since when one of them does not do it. */
export class Asking {
  readonly #places: () => readonly RedisPages[];
  /** Those whose answer is overdue: nothing more is sent to them before it is there. */
  readonly #overdue = new Set<RedisPages>();
  #failsSinceMs: number | null = null;

  constructor(places: () => readonly RedisPages[]) {
    this.#places = places;
  }

  /** Since when a place has not done it; null: all do. */
  get failsSinceMs(): number | null {
    return this.#failsSinceMs;
  }

  /** Does something in each place; one that hangs holds up no other, and the caller two seconds. Never rejects. */
  async each(act: (pages: RedisPages) => Promise<void>): Promise<void> {
    const isDone = await this.#all(act).catch(() => false);
    this.#failsSinceMs = isDone ? null : (this.#failsSinceMs ?? Date.now());
  }

  async #all(act: (pages: RedisPages) => Promise<void>): Promise<boolean> {
    const done = await Promise.allSettled(this.#places().map((pages) => this.#ask(pages, act)));
    return done.every(({ status }) => status === 'fulfilled');
  }

  async #ask(pages: RedisPages, act: (pages: RedisPages) => Promise<void>): Promise<void> {
    if (this.#overdue.has(pages)) throw new Error('the last answer is overdue');
    const answer = Promise.resolve(pages).then(act); // so that nothing throws at once
    try {
      await withinDeadline(answer, LONG_MS, undefined, false);
    } catch (error) {
      this.#overdue.add(pages);
      const settle = (): unknown => this.#overdue.delete(pages);
      answer.then(settle, settle);
      throw error;
    }
  }
}
