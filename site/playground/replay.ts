import { memoryStore, type Decision, type Policy } from '@sluice/core';
import { denialFor } from '@sluice/core/http';
import { findSlots, LimiterCore, type HeldSlots } from '@sluice/core/spi';
import { COLUMNS, listRequests, type Offered, type Traffic } from './traffic.ts';

/** Where the traffic starts: an edge of every window that divides a day. */
export const START_MS: number = Date.UTC(2026, 0, 1);

/** A request that arrives, for the first time (0) or again. */
interface Coming extends Offered {
  readonly retry: number;
}

/** A request and its decision. */
export interface Answer extends Coming {
  readonly decision: Decision;
  /** When it proceeds, in milliseconds from the start of the traffic. */
  readonly startMs: number;
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

const SAMPLES = 240;
/** How often a denied request comes back. */
const MAX_RETRIES = { none: 0, after: 10, backoff: 4 } as const;
/** The maximum number of retries, so that the page stays fast whatever is drawn. */
const MAX_IN_ALL = 5_000;

/**
 * Sends the traffic through a limiter in memory, in virtual time. Slots are held from the decision until the request
 * ends.
 *
 * @param options - `watched`: the client whose `remaining` is sampled; `isShared`: whether all clients share one key.
 */
export function replay(
  policies: readonly Policy[],
  traffic: Traffic,
  options: { readonly watched: number; readonly isShared: boolean },
): Replayed {
  const { watched, isShared } = options;
  const { spanMs, runsMs, retries } = traffic;
  let nowMs = 0;
  const core = new LimiterCore({ store: memoryStore({ clock: { now: () => START_MS + Math.floor(nowMs) } }) });
  const limit = core.limitFor(policies);
  let holder = 0;
  const decide = (op: 'take' | 'peek', client: number, cost: number): Decision => {
    const key = isShared ? 'all' : String(client);
    // Runs at once, because the store answers at once.
    return core.decide(op, [{ limit, key, subject: key, cost, holder: ++holder, isNamed: false }]) as Decision;
  };
  /** By their ends. */
  const running: { readonly endMs: number; readonly slots: HeldSlots }[] = [];
  const advance = (atMs: number): void => {
    while (running[0] !== undefined && running[0].endMs <= atMs) {
      nowMs = running[0].endMs;
      void running.shift()?.slots.release(); // done when it returns: the store is in this process
    }
    nowMs = atMs;
  };
  const samples: Sample[] = [];
  const sample = (atMs: number): void => {
    advance(atMs);
    samples.push({ atMs, remaining: decide('peek', watched, 0).policies.map(({ remaining }) => remaining) });
  };
  let step = 0;
  const sampleUntil = (atMs: number): void => {
    for (; (step * spanMs) / SAMPLES < atMs; step++) sample((step * spanMs) / SAMPLES);
  };

  const answers: Answer[] = [];
  const queue: Coming[] = listRequests(traffic).map((request) => ({ ...request, retry: 0 }));
  const offered = queue.length;
  for (const [i, request] of queue.entries()) {
    const { atMs, client, cost, retry } = request;
    const isWatched = isShared || client === watched;
    sampleUntil(atMs);
    if (isWatched) sample(atMs);
    advance(atMs);
    const decision = decide('take', client, cost);
    const startMs = atMs + decision.delayMs;
    answers.push({ ...request, decision, startMs });
    const slots = findSlots(core, decision);
    if (slots !== undefined)
      insert(running, { endMs: startMs + runsMs, slots }, ({ endMs }) => endMs > startMs + runsMs);
    if (isWatched) sample(atMs);
    if (decision.allowed || retry === MAX_RETRIES[retries] || queue.length === offered + MAX_IN_ALL) continue;
    const waitMs = retries === 'after' ? readRetryAfter(decision) : Math.max((spanMs / COLUMNS) * 2 ** (retry + 1), 1);
    const againMs = atMs + Math.floor(waitMs);
    if (againMs >= spanMs) continue;
    const isLater = (other: Coming): boolean => other.atMs > againMs || (other.atMs === againMs && other.retry === 0);
    insert(queue, { ...request, atMs: againMs, retry: retry + 1 }, isLater, i + 1);
  }
  sampleUntil(spanMs);
  sample(spanMs);
  return { answers, samples };
}

/** Inserts an item before the first later one in a sorted list. */
function insert<T>(list: T[], item: T, isLater: (other: T) => boolean, from = 0): void {
  let place = from;
  while (place < list.length && !isLater(list[place] as T)) place++;
  list.splice(place, 0, item);
}

/** The value of `Retry-After` in milliseconds; infinite if the response has none. */
function readRetryAfter(decision: Decision): number {
  const field = denialFor(decision).fields.find(({ name }) => name === 'Retry-After');
  return field === undefined ? Infinity : Number(field.value) * 1_000;
}
