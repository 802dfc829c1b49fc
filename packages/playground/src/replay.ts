import {
  combine,
  evaluate,
  holdsSlots,
  type Decision,
  type KeyState,
  type Limit,
  type NamedPolicy,
  type Part,
} from '@sluice/old-core/kernels';
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
const SLOT_DIGITS = 12;

/**
 * Sends the requests through the kernels, in virtual time: what a limiter in memory decides. Slots are held from the
 * decision until the request ends.
 */
export function replay(
  policies: readonly NamedPolicy[],
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
  readonly key: number;
  readonly part: Part;
}

/** The states of all clients, as a store holds them. */
class Clients {
  readonly #limit: Limit;
  readonly #holds: boolean;
  readonly #states = new Map<number, KeyState>();
  #held: Held[] = [];
  #requests = 0;

  constructor(policies: readonly NamedPolicy[]) {
    this.#limit = { policies, keySuffix: '' };
    this.#holds = holdsSlots(policies);
  }

  send(key: number, request: Coming): Answer {
    const { atMs, cost, runsMs } = request;
    const part = this.#part(key, cost);
    const nowMs = START_MS + atMs;
    const { answer } = evaluate({ op: 'consume', parts: [part] }, [this.#stateOf(key)], nowMs);
    const [{ policies, blocked }] = answer.parts as [(typeof answer.parts)[number]];
    const decision = combine(policies, { cost, blocked, source: 'memory', atMs: nowMs });
    const startMs = atMs + decision.delayMs;
    const endMs = startMs + runsMs;
    if (this.#holds && decision.allowed && cost > 0) this.#hold({ endMs, key, part });
    return { ...request, decision, startMs, endMs };
  }

  /** Releases the slots of the requests that have ended by then. */
  releaseUntil(atMs: number): void {
    while ((this.#held[0]?.endMs ?? Infinity) <= atMs) {
      const { endMs, key, part } = this.#held.shift() as Held;
      evaluate({ op: 'release', part }, [this.#stateOf(key)], START_MS + endMs);
    }
  }

  remaining(key: number, atMs: number): readonly number[] {
    const request = { op: 'peek', parts: [this.#part(key, 0)] } as const;
    const { answer } = evaluate(request, [this.#stateOf(key)], START_MS + Math.floor(atMs));
    return (answer.parts[0]?.policies ?? []).map(({ remaining }) => remaining);
  }

  #hold(held: Held): void {
    const after = this.#held.findLastIndex(({ endMs }) => endMs <= held.endMs);
    this.#held.splice(after + 1, 0, held);
  }

  #part(key: number, cost: number): Part {
    const holder = String(++this.#requests).padStart(SLOT_DIGITS, '0');
    return { limit: this.#limit, subject: String(key), cost, ...(this.#holds ? { holder } : {}) };
  }

  #stateOf(key: number): KeyState {
    let state = this.#states.get(key);
    if (state === undefined) {
      state = { blockedUntilMs: 0, states: this.#limit.policies.map(() => undefined) };
      this.#states.set(key, state);
    }
    return state;
  }
}
