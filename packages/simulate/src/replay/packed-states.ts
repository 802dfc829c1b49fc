import type { NamedPolicy } from '@sluice/old-core';

type Packing = NonNullable<NamedPolicy['algorithm']['packing']>;

const FIRST_SIZE = 1024;

/**
 * The states of one policy, by the numbers of their keys. Most are two numbers in an array, so that millions of
 * decisions leave nothing for the garbage collector; those that are more are kept as they are.
 */
export class PackedStates {
  readonly #named: NamedPolicy;
  readonly #packing: Packing | undefined;
  /** Two numbers of each key. The first is an instant since 1970; 0 where there is no state here. */
  #numbers: Float64Array = new Float64Array(2 * FIRST_SIZE);
  readonly #whole = new Map<number, unknown>();

  constructor(named: NamedPolicy) {
    this.#named = named;
    this.#packing = named.algorithm.packing;
  }

  read(id: number): unknown {
    const at = 2 * id;
    if (this.#packing !== undefined && at < this.#numbers.length) {
      const first = this.#numbers[at] as number;
      if (first !== 0) return this.#packing.unpack(this.#named.policy, first, this.#numbers[at + 1] as number);
    }
    return this.#whole.size === 0 ? undefined : this.#whole.get(id);
  }

  write(id: number, state: unknown): void {
    const packing = this.#packing;
    const at = 2 * id;
    if (packing !== undefined && state !== undefined && packing.fits?.(this.#named.policy, state) !== false) {
      if (at >= this.#numbers.length) this.#grow(at);
      this.#numbers[at] = packing.first(state);
      this.#numbers[at + 1] = packing.second(state);
      if (this.#whole.size > 0) this.#whole.delete(id);
    } else {
      if (at < this.#numbers.length) this.#numbers[at] = 0;
      if (state === undefined) this.#whole.delete(id);
      else this.#whole.set(id, state);
    }
  }

  /** The instant from which a key is as if never used; 0 where it is. */
  resetAtMs(id: number): number {
    const state = this.read(id);
    return state === undefined ? 0 : this.#named.algorithm.resetAtMs(this.#named.policy, state);
  }

  #grow(at: number): void {
    const larger = new Float64Array(Math.max(this.#numbers.length * 2, at + 2));
    larger.set(this.#numbers);
    this.#numbers = larger;
  }
}
