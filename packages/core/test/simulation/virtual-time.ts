interface Scheduled {
  readonly atMs: number;
  readonly act: () => void;
  isOff: boolean;
}

/** True time, by which the clock of the store goes, or of the registry: it moves from event to event. */
export class VirtualTime {
  nowMs: number;
  readonly #heap: Scheduled[] = [];

  constructor(nowMs: number) {
    this.nowMs = nowMs;
  }

  /** @returns What calls it off. */
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

  /** Lets everything happen that is to happen until then, promises included. */
  async runUntil(endMs: number): Promise<void> {
    for (let next = this.#heap[0]; next !== undefined && next.atMs <= endMs; next = this.#heap[0]) {
      this.#pop();
      this.nowMs = next.atMs;
      if (next.isOff) continue;
      next.act();
      // What was resolved goes on before time does.
      for (let i = 0; i < 6; i++) await Promise.resolve();
    }
    this.nowMs = endMs;
  }

  #push(item: Scheduled): void {
    const heap = this.#heap;
    let place = heap.push(item) - 1;
    while (place > 0) {
      const parent = (place - 1) >> 1;
      if ((heap[parent] as Scheduled).atMs <= item.atMs) break;
      heap[place] = heap[parent] as Scheduled;
      place = parent;
    }
    heap[place] = item;
  }

  #pop(): void {
    const heap = this.#heap;
    const last = heap.pop() as Scheduled;
    if (heap.length === 0) return;
    let place = 0;
    for (;;) {
      let child = 2 * place + 1;
      if (child >= heap.length) break;
      if (child + 1 < heap.length && (heap[child + 1] as Scheduled).atMs < (heap[child] as Scheduled).atMs) child++;
      if ((heap[child] as Scheduled).atMs >= last.atMs) break;
      heap[place] = heap[child] as Scheduled;
      place = child;
    }
    heap[place] = last;
  }
}
