const BLOCKS = 10;
const BLOCK_MS = 100;

/** Requests of the last second, in tenths of it: Sentinel's guard of a namespace. Asked for each request. */
export class RequestCap {
  readonly #counts = new Uint32Array(BLOCKS);
  #block = 0;
  #sum = 0;

  /** Whether one more request is within `most` a second; it counts if so. */
  allows(most: number, nowMs: number): boolean {
    const block = Math.floor(nowMs / BLOCK_MS);
    if (block > this.#block) this.#forget(block);
    if (this.#sum >= most) return false;
    this.#sum++;
    (this.#counts[block % BLOCKS] as number)++;
    return true;
  }

  #forget(block: number): void {
    for (let i = Math.max(this.#block + 1, block - BLOCKS + 1); i <= block; i++) {
      this.#sum -= this.#counts[i % BLOCKS] as number;
      this.#counts[i % BLOCKS] = 0;
    }
    this.#block = block;
  }
}
