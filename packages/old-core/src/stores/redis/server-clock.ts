import { DRIFT, localClocks, type LocalClocks } from '../../platform/clock.ts';

/** A smaller step of a server's clock is not noticed: replies of several connections can be that far apart. */
const STEP_MS = 1000;
/** How long after a step forward the clock may be expected to step back. */
const SUSPECT_MS = 60_000;

/**
 * Watches the clock of one server, by the instants of its replies beside this process's monotonic clock. After a step
 * back the clock repeats earlier instants. Until it passes the latest one, keys may hold states dated ahead.
 */
export class ServerClock {
  readonly #clocks: LocalClocks;
  #latestMs = 0;
  /** When the call was sent whose reply showed the latest instant. */
  #latestSentMs = 0;
  #suspectUntilMs = -Infinity;
  #isBehind = false;
  /** The last instant, while the clock is behind. */
  #behindAtMs = 0;
  #stepsBack = 0;

  constructor(clocks: LocalClocks = localClocks) {
    this.#clocks = clocks;
  }

  /**
   * If the clock shows less than this instant, it has stepped back. Undefined when no step is expected. Known after a
   * step back, and for a minute after a step forward, so that the first call after a short one is right as well.
   */
  get behindMs(): number | undefined {
    const isSuspect = this.#suspectUntilMs > 0 && this.#clocks.monotonicMs() < this.#suspectUntilMs;
    return this.#isBehind || isSuspect ? this.#latestMs - STEP_MS : undefined;
  }

  /** How many steps back replies have shown. */
  get stepsBack(): number {
    return this.#stepsBack;
  }

  /**
   * @param atMs - The instant of a reply.
   * @param sentMs - When its call was sent, by the monotonic clock.
   */
  saw(atMs: number, sentMs: number): void {
    if (atMs < this.#latestMs) {
      if ((this.#isBehind ? this.#behindAtMs : this.#latestMs) - atMs > STEP_MS) this.#stepsBack++;
      this.#isBehind = this.#latestMs - atMs > STEP_MS;
      this.#behindAtMs = atMs;
      return;
    }
    // Most replies are so close to the one before that no clock has to be read.
    if (this.#latestMs > 0 && atMs - this.#latestMs > STEP_MS) {
      const nowMs = this.#clocks.monotonicMs();
      const passedMs = (nowMs - this.#latestSentMs) * (1 + DRIFT);
      if (atMs - this.#latestMs - passedMs > STEP_MS) this.#suspectUntilMs = nowMs + SUSPECT_MS;
    }
    this.#latestMs = atMs;
    this.#latestSentMs = sentMs;
    this.#isBehind = false;
  }
}
