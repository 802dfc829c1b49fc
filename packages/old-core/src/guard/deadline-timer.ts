import { detached } from '../platform/detached.ts';

/** Whatever tests replace it with later: fake timers are neither kept nor restarted. */
const realSetTimeout = setTimeout;

/** As many calls of a process as are on their way at once, as a rule. */
const MOST_SPARES = 16;

/** A wait that ends at its deadline. */
interface Ending {
  due(): void;
}

/**
 * A timer that keeps the process alive until it fires or is stopped. Calls of a store have the same time, as a rule: the
 * timer of one that is answered is restarted for the next, which takes a tenth of making a new one.
 */
export class DeadlineTimer {
  /** The timers that answered calls have left. They keep no process alive, and nothing happens when they fire. */
  static readonly #spares: DeadlineTimer[] = [];
  readonly #ms: number;
  readonly #timer: NodeJS.Timeout;
  readonly #isRestartable: boolean;
  #ending: Ending | undefined;
  #hasFired = false;

  private constructor(ms: number) {
    this.#ms = ms;
    this.#timer = detached(() => setTimeout(fire, ms, this));
    this.#isRestartable = setTimeout === realSetTimeout && canRefresh(this.#timer);
  }

  static start(ms: number, ending: Ending): DeadlineTimer {
    const spares = DeadlineTimer.#spares;
    let timer = spares.at(-1);
    if (timer !== undefined && timer.#ms === ms && setTimeout === realSetTimeout) {
      spares.pop();
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
    const spares = DeadlineTimer.#spares;
    if (!this.#isRestartable || spares.length === MOST_SPARES) {
      clearTimeout(this.#timer);
      return;
    }
    spares.push(this);
    this.#timer.unref();
  }

  /** Called by the timer. */
  fired(): void {
    // A fired timer that is restarted would belong to the request that restarts it.
    this.#hasFired = true;
    const spares = DeadlineTimer.#spares;
    const index = spares.indexOf(this);
    if (index !== -1) spares.splice(index, 1);
    this.#ending?.due();
  }
}

function fire(timer: DeadlineTimer): void {
  timer.fired();
}

/** Some runtimes have numbers for timers. */
function canRefresh(timer: Partial<NodeJS.Timeout> | number): boolean {
  return typeof timer === 'object' && typeof timer.refresh === 'function';
}
