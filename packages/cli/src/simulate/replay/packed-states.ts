import type { NamedPolicy } from '@sluice/core';

type Packing = NonNullable<NamedPolicy['algorithm']['packing']>;

const FIRST_SIZE = 1024;

/**
 * The states of one policy, by the numbers of their keys. Most are two numbers in an array, so that millions of decisions leave
 * nothing for the garbage collector; those that are more are kept as they are.
 */
export class PackedStates {
  readonly #named: NamedPolicy;
  readonly #packing: Packing | undefined;
  /** An instant since 1970; 0 where there is no state here. */
  #first: Float64Array = new Float64Array(FIRST_SIZE);
  #second: Float64Array = new Float64Array(FIRST_SIZE);
  readonly #whole = new Map<number, unknown>();

  constructor(named: NamedPolicy) {
    this.#named = named;
    this.#packing = named.algorithm.packing;
  }

  read(id: number): unknown {
    if (this.#packing !== undefined && id < this.#first.length) {
      const first = this.#first[id] as number;
      if (first !== 0) return this.#packing.unpack(this.#named.policy, first, this.#second[id] as number);
    }
    return this.#whole.size === 0 ? undefined : this.#whole.get(id);
  }

  write(id: number, state: unknown): void {
    const packing = this.#packing;
    if (packing !== undefined && state !== undefined && packing.fits?.(this.#named.policy, state) !== false) {
      if (id >= this.#first.length) this.#grow(id);
      this.#first[id] = packing.first(state);
      this.#second[id] = packing.second(state);
      if (this.#whole.size > 0) this.#whole.delete(id);
    } else {
      if (id < this.#first.length) this.#first[id] = 0;
      if (state === undefined) this.#whole.delete(id);
      else this.#whole.set(id, state);
    }
  }

  /** The instant from which a key is as if never used; 0 where it is. */
  resetAtMs(id: number): number {
    const state = this.read(id);
    return state === undefined ? 0 : this.#named.algorithm.resetAtMs(this.#named.policy, state);
  }

  #grow(id: number): void {
    const size = Math.max(this.#first.length * 2, id + 1);
    this.#first = copied(this.#first, size);
    this.#second = copied(this.#second, size);
  }
}

function copied(array: Float64Array, size: number): Float64Array {
  const larger = new Float64Array(size);
  larger.set(array);
  return larger;
}
