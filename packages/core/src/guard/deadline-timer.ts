import { detached } from '../platform/detached.ts';

/** Whatever tests replace it with later: fake timers are neither kept nor restarted. */
const realSetTimeout = setTimeout;

/** What ends when its time has passed. */
interface Ending {
  due(): void;
}

/** The timer that the last answered call has left. It keeps no process alive, and nothing happens when it fires. */
let spare: DeadlineTimer | undefined;

/**
 * A timer that keeps the process alive until it fires or is stopped. Calls of a store are answered one after another, each
 * with the same time: the timer of one is restarted for the next, which takes a tenth of making a new one.
 */
export class DeadlineTimer {
  readonly #ms: number;
  readonly #timer: NodeJS.Timeout;
  readonly #isReal = setTimeout === realSetTimeout;
  #ending: Ending | undefined;
  #hasFired = false;

  private constructor(ms: number) {
    this.#ms = ms;
    this.#timer = detached(() => setTimeout(fire, ms, this));
  }

  static start(ms: number, ending: Ending): DeadlineTimer {
    let timer = spare;
    if (timer?.isFor(ms) === true) {
      spare = undefined;
      timer.#timer.refresh().ref();
    } else {
      timer = new DeadlineTimer(ms);
    }
    timer.#ending = ending;
    return timer;
  }

  stop(): void {
    this.#ending = undefined;
    if (this.#hasFired) return;
    if (!this.#isReal || !isRestartable(this.#timer)) {
      clearTimeout(this.#timer);
      return;
    }
    if (spare !== undefined) clearTimeout(spare.#timer);
    keep(this);
    this.#timer.unref();
  }

  /** Whether it can be restarted for a call of this time. */
  isFor(ms: number): boolean {
    return this.#ms === ms && setTimeout === realSetTimeout;
  }

  /** Called by the timer. */
  fired(): void {
    // A fired timer that is restarted would belong to the request that restarts it.
    this.#hasFired = true;
    if (spare === this) spare = undefined;
    this.#ending?.due();
  }
}

function keep(timer: DeadlineTimer): void {
  spare = timer;
}

function fire(timer: DeadlineTimer): void {
  timer.fired();
}

/** Some runtimes have numbers for timers. */
function isRestartable(timer: Partial<NodeJS.Timeout> | number): boolean {
  return typeof timer === 'object' && typeof timer.refresh === 'function';
}
