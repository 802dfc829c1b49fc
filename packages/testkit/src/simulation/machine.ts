import type { VirtualTime } from './virtual-time.ts';

/**
 * A machine with its own clocks: they drift, its date is wrong, and it can be stopped (its clocks continue) or
 * suspended (its monotonic clock stops).
 */
export class Machine {
  readonly #time: VirtualTime;
  readonly #rate: number;
  #monotonicMs: number;
  #dateOffsetMs: number;
  #readAtMs: number;
  #suspendedUntilMs = -Infinity;
  #stoppedUntilMs = -Infinity;
  #waiting: (() => void)[] = [];
  isDead = false;

  /** @param rate - How fast its clocks run; 1 is correct. */
  constructor(time: VirtualTime, { rate, dateOffsetMs }: { rate: number; dateOffsetMs: number }) {
    this.#time = time;
    this.#rate = rate;
    this.#monotonicMs = 1000 * rate;
    this.#dateOffsetMs = dateOffsetMs;
    this.#readAtMs = time.nowMs;
  }

  monotonicMs(): number {
    const { nowMs } = this.#time;
    if (nowMs > this.#suspendedUntilMs) {
      this.#monotonicMs += (nowMs - Math.max(this.#readAtMs, this.#suspendedUntilMs)) * this.#rate;
    }
    this.#readAtMs = nowMs;
    return this.#monotonicMs;
  }

  dateMs(): number {
    return this.#time.nowMs * this.#rate + this.#dateOffsetMs;
  }

  /** Moves its date, as an administrator does. */
  setDate(byMs: number): void {
    this.#dateOffsetMs += byMs;
  }

  get isAwake(): boolean {
    return !this.isDead && this.#time.nowMs >= Math.max(this.#suspendedUntilMs, this.#stoppedUntilMs);
  }

  /** Stops its programs for this time. */
  stop(ms: number): void {
    this.#stoppedUntilMs = Math.max(this.#stoppedUntilMs, this.#time.nowMs + ms);
    this.#wakeAt(this.#stoppedUntilMs);
  }

  suspend(ms: number): void {
    if (!this.isAwake) return;
    this.monotonicMs();
    this.#suspendedUntilMs = this.#time.nowMs + ms;
    this.#wakeAt(this.#suspendedUntilMs);
  }

  /** Runs a program's callback now or, if the machine sleeps, as soon as it wakes up. */
  run(act: () => void): void {
    if (this.isDead) return;
    if (this.isAwake) act();
    else this.#waiting.push(act);
  }

  after(ms: number, act: () => void): () => void {
    let isOff = false;
    const dueMs = this.monotonicMs() + ms;
    const fireWhenDue = (): void => {
      if (isOff || this.isDead) return;
      const leftMs = dueMs - this.monotonicMs();
      if (leftMs > 0.001 || !this.isAwake) {
        this.#time.at(
          Math.max(this.#time.nowMs + leftMs / this.#rate, this.#suspendedUntilMs, this.#stoppedUntilMs),
          fireWhenDue,
        );
      } else {
        act();
      }
    };
    this.#time.after(ms / this.#rate, fireWhenDue);
    return () => {
      isOff = true;
    };
  }

  #wakeAt(atMs: number): void {
    this.#time.at(atMs, () => {
      if (!this.isAwake) return;
      for (const act of this.#waiting.splice(0)) act();
    });
  }
}
