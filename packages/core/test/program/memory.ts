import { perform, type Answer, type Ask, type Held } from '../../src/stores/perform.ts';

/** A store without a bound: nothing but the program. */
export class ProgramInMemory {
  readonly #keys = new Map<string, Held>();
  atMs = 0;

  find(key: string): Held | undefined {
    return this.#keys.get(key);
  }

  keep(key: string, held: Held): void {
    this.#keys.set(key, held);
  }

  perform(op: number, asks: readonly Ask[]): Answer {
    return perform(this, op, asks, this.atMs);
  }
}
