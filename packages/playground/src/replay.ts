import { memoryStore, type Decision, type Policy } from '@sluice/core';
import { heldBy, LimiterCore, type HeldSlots, type Limit } from '@sluice/core/spi';
import { Arrivals, type Coming } from './arrivals.ts';
import type { Offered, Retries } from './traffic.ts';

/** An edge of every window that divides a day: where the traffic starts. */
export const START_MS: number = Date.UTC(2026, 0, 1);

/** A request and what was decided. */
export interface Answer extends Coming {
  readonly decision: Decision;
  /** When it goes on, and when it ends, in milliseconds from the start of the traffic. */
  readonly startMs: number;
  readonly endMs: number;
}

/** The remaining units of each policy at an instant, for the watched client. */
export interface Sample {
  readonly atMs: number;
  readonly remaining: readonly number[];
}

export interface Replayed {
  /** One per request, in the order of time. */
  readonly answers: readonly Answer[];
  readonly samples: readonly Sample[];
}

export interface ReplayOptions {
  readonly spanMs: number;
  /** The client whose `remaining` is sampled. */
  readonly watched: number;
  /** Whether all clients share one key. */
  readonly shared: boolean;
  /** When denied requests come back; undefined: they do not. */
  readonly retries?: Retries | undefined;
}

const SAMPLES = 240;

/**
 * Sends the requests through a limiter in memory, in virtual time. Slots are held from the decision until the request
 * ends.
 */
export function replay(
  policies: readonly Policy[],
  offered: readonly Offered[],
  { spanMs, watched, shared, retries }: ReplayOptions,
): Replayed {
  const clients = new Clients(policies);
  const keyOf = (client: number): number => (shared ? 0 : client);
  const answers: Answer[] = [];
  const samples: Sample[] = [];
  const stepMs = spanMs / SAMPLES;
  const sampleAt = (atMs: number): void => {
    clients.releaseUntil(atMs);
    samples.push({ atMs, remaining: clients.remaining(keyOf(watched), atMs) });
  };
  const sampleUntil = (atMs: number): void => {
    for (let at = samples.length === 0 ? 0 : nextOf(samples, stepMs); at < atMs; at += stepMs) sampleAt(at);
  };

  const arrivals = new Arrivals(offered, retries, spanMs);
  for (let request = arrivals.next(); request !== undefined; request = arrivals.next()) {
    const isWatched = keyOf(request.client) === keyOf(watched);
    sampleUntil(request.atMs);
    if (isWatched) sampleAt(request.atMs);
    clients.releaseUntil(request.atMs);
    const answer = clients.send(keyOf(request.client), request);
    answers.push(answer);
    if (!answer.decision.allowed) arrivals.denied(request, answer.decision);
    if (isWatched) sampleAt(request.atMs);
  }
  sampleUntil(spanMs);
  sampleAt(spanMs);
  return { answers, samples };
}

/** The next instant of the grid after the last sample. */
function nextOf(samples: readonly Sample[], stepMs: number): number {
  return (Math.floor((samples.at(-1) as Sample).atMs / stepMs) + 1) * stepMs;
}

interface Held {
  readonly endMs: number;
  readonly slots: HeldSlots;
}

/** The clients of a limiter whose clock is that of the traffic. */
class Clients {
  readonly #core: LimiterCore;
  readonly #limit: Limit;
  #atMs = 0;
  #held: Held[] = [];
  #requests = 0;

  constructor(policies: readonly Policy[]) {
    const clock = { now: () => START_MS + Math.floor(this.#atMs) };
    this.#core = new LimiterCore({ store: memoryStore({ clock }) });
    this.#limit = this.#core.limitFor(policies);
  }

  send(key: number, request: Coming): Answer {
    const { atMs, runsMs } = request;
    this.#atMs = atMs;
    const decision = this.#decide('take', key, request.cost);
    const startMs = atMs + decision.delayMs;
    const endMs = startMs + runsMs;
    const slots = heldBy(this.#core, decision);
    if (slots !== undefined) this.#hold({ endMs, slots });
    return { ...request, decision, startMs, endMs };
  }

  /** Releases the slots of the requests that have ended by then. */
  releaseUntil(atMs: number): void {
    while ((this.#held[0]?.endMs ?? Infinity) <= atMs) {
      const { endMs, slots } = this.#held.shift() as Held;
      this.#atMs = endMs;
      void slots.release(); // done when it returns: the store is in this process
    }
  }

  remaining(key: number, atMs: number): readonly number[] {
    this.#atMs = atMs;
    return this.#decide('peek', key, 0).policies.map(({ remaining }) => remaining);
  }

  #hold(held: Held): void {
    const after = this.#held.findLastIndex(({ endMs }) => endMs <= held.endMs);
    this.#held.splice(after + 1, 0, held);
  }

  #decide(op: 'take' | 'peek', client: number, cost: number): Decision {
    const key = String(client);
    const want = { limit: this.#limit, key, subject: key, cost, holder: ++this.#requests, isNamed: false };
    return this.#core.decide(op, [want]) as Decision; // at once, as the store answers
  }
}
