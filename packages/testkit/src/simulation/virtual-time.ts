interface Scheduled {
  readonly atMs: number;
  readonly act: () => void;
  isOff: boolean;
}

/** True time, which the clock of the store or registry shows: it advances from event to event. */
export class VirtualTime {
  nowMs: number;
  readonly #heap: Scheduled[] = [];

  constructor(nowMs: number) {
    this.nowMs = nowMs;
  }

  /** @returns A function that cancels it. */
  at(atMs: number, act: () => void): () => void {
    const scheduled: Scheduled = { atMs: Math.max(atMs, this.nowMs), act, isOff: false };
    this.#push(scheduled);
    return () => {
      scheduled.isOff = true;
    };
  }

  after(ms: number, act: () => void): () => void {
    return this.at(this.nowMs + ms, act);
  }

  /** Runs everything that is due until then, promises included. */
  async runUntil(endMs: number): Promise<void> {
    for (let next = this.#heap[0]; next !== undefined && next.atMs <= endMs; next = this.#heap[0]) {
      this.#pop();
      this.nowMs = next.atMs;
      if (next.isOff) continue;
      next.act();
      // Resolved promises continue before time advances.
      for (let i = 0; i < 6; i++) await Promise.resolve();
    }
    this.nowMs = endMs;
  }

  #push(item: Scheduled): void {
    const heap = this.#heap;
    let index = heap.push(item) - 1;
    while (index > 0) {
      const parent = (index - 1) >> 1;
      if ((heap[parent] as Scheduled).atMs <= item.atMs) break;
      heap[index] = heap[parent] as Scheduled;
      index = parent;
    }
    heap[index] = item;
  }

  #pop(): void {
    const heap = this.#heap;
    const last = heap.pop() as Scheduled;
    if (heap.length === 0) return;
    let index = 0;
    for (;;) {
      let child = 2 * index + 1;
      if (child >= heap.length) break;
      if (child + 1 < heap.length && (heap[child + 1] as Scheduled).atMs < (heap[child] as Scheduled).atMs) child++;
      if ((heap[child] as Scheduled).atMs >= last.atMs) break;
      heap[index] = heap[child] as Scheduled;
      index = child;
    }
    heap[index] = last;
  }
}
