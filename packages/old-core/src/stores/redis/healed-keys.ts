import type { Part } from '../../engine/store.ts';

type Key = Pick<Part, 'limit' | 'subject'>;

/** Some 100 bytes each. */
const MOST_KEYS = 10_000;

/**
 * The keys that have been healed since a server's clock last stepped back: once is enough, because whatever is written
 * after that step is written at instants that have been reached. Forgets keys rather than grow: healing again does
 * nothing.
 */
export class HealedKeys {
  readonly #keys = new Set<string>();
  #step = 0;

  /**
   * The keys that have not been healed since this step.
   *
   * @param step - See {@link ServerClock.stepsBack}.
   */
  without<K extends Key>(keys: readonly K[], step: number): readonly K[] {
    if (step !== this.#step || this.#keys.size > MOST_KEYS) this.#keys.clear();
    this.#step = step;
    return keys.filter((key) => !this.#keys.has(textOf(key)));
  }

  /** Call this with keys that were healed while the clock was behind. */
  add(keys: readonly Key[], step: number): void {
    if (step === this.#step) for (const key of keys) this.#keys.add(textOf(key));
  }
}

function textOf({ limit, subject }: Key): string {
  return subject + limit.keySuffix;
}
