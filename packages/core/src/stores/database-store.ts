import { asStoreError, getMessage, StoreError, type SluiceError } from '../errors.ts';
import { NOT_SENT } from '../platform.ts';
import { DenialCache, type Send, type Waiting } from './redis/denial-cache.ts';
import type { Store } from './store.ts';
import { Requests, type Write } from './transaction.ts';

/**
 * What is sent to the database: write this if its keys hold these values, and the instant is no older than `maxAgeMs`.
 */
export interface Swap {
  readonly keys: readonly string[];
  /** In the order of the keys; undefined: nothing is stored. */
  readonly texts: readonly (string | undefined)[];
  /** When it was decided, by the database's clock. */
  readonly atMs: number;
  readonly maxAgeMs: number;
  readonly writes: readonly Write[];
}

/** The database's answer: whether it has written, its clock, and what the keys held. */
export interface Swapped {
  readonly isDone: boolean;
  readonly atMs: number;
  readonly texts: readonly (string | undefined)[];
}

/** The approximate maximum of keys in one swap: a longer one would make others wait for its locks. */
const MAX_KEYS = 256;
/** A swap that takes longer than this no longer holds back the next. */
const MAX_WAIT_MS = 100;
/** How often to retry if another process was faster, as long as a caller waits. */
const MAX_TRIES = 100;
/** How old the instant of a decision may be: twice a round trip, within these bounds. */
const MIN_AGE_MS = 100;
const MAX_AGE_MS = 2_000;
/** How many values are remembered. */
const MAX_KNOWN = 10_000;

/**
 * A store in a database that compares and writes in one round trip. A decision uses the values that this process saw
 * last, at an instant that the database's clock has passed, and counts if the keys still hold these values. If not,
 * nothing is written, and the decision is repeated with what they hold. So no lock outlives a round trip, whatever
 * becomes of the process.
 *
 * One swap runs at a time: what is asked for meanwhile is decided together in the next, so that this process never
 * competes with itself.
 *
 * @param swap - Compares and writes under locks. Rejects if nothing was written, or if that is unknown.
 */
export function databaseStore(source: string, swap: (what: Swap) => Promise<Swapped>): Store {
  const denials = new DenialCache();
  const known = new Map<string, string>();
  /** The database's clock when it last answered, and this process's (`performance.now()`) then. */
  let clock: readonly [atMs: number, sinceMs: number] | undefined;
  let roundTripMs = 0;
  let waiting: Waiting[] = [];
  /** The swap that holds back the next. */
  let running: object | undefined;

  const send: Send = (one) => {
    waiting.push(one);
    if (waiting.length === 1 && running === undefined) setImmediate(flush);
  };

  function flush(): void {
    if (running !== undefined || waiting.length === 0) return;
    let [count, keys] = [0, 0];
    while (count < waiting.length && keys < MAX_KEYS) keys += (waiting[count++] as Waiting).asks.length;
    const batch = waiting.slice(0, count);
    waiting = waiting.slice(count);
    const own = (running = {});
    const end = (): void => {
      clearTimeout(late);
      if (running !== own) return;
      running = undefined;
      flush();
    };
    const late = setTimeout(end, MAX_WAIT_MS);
    void run(batch).finally(end);
  }

  async function run(batch: readonly Waiting[]): Promise<void> {
    let requests: Requests;
    try {
      requests = new Requests(batch);
      await decide(requests, Math.max(...batch.map(({ endMs }) => endMs)));
    } catch (error) {
      for (const { reject } of batch) reject(toStoreError(error));
      return;
    }
    for (const [i, { resolve, reject }] of batch.entries()) {
      try {
        resolve(requests.answerOf(i));
      } catch (error) {
        reject(error);
      }
    }
  }

  async function decide(requests: Requests, endMs: number): Promise<void> {
    const { keys } = requests;
    let texts: Swapped['texts'] = keys.map((key) => known.get(key));
    let atMs = clock === undefined ? 0 : Math.floor(clock[0] + performance.now() - clock[1]);
    let sentMs = performance.now();
    for (let tries = 0; tries < MAX_TRIES && (tries === 0 || sentMs < endMs); tries++) {
      const writes = requests.decide(texts, atMs);
      const maxAgeMs = Math.min(Math.max(MIN_AGE_MS, 2 * roundTripMs), MAX_AGE_MS);
      const swapped = await swap({ keys, texts, atMs, maxAgeMs, writes });
      ({ atMs, texts } = swapped);
      // Known values may contain a later instant, after a late answer or if the clock has stepped back.
      if (clock !== undefined && atMs < clock[0]) known.clear();
      const nowMs = performance.now();
      clock = [atMs, nowMs];
      roundTripMs = Math.ceil(nowMs - sentMs);
      sentMs = nowMs;
      for (const [i, key] of keys.entries()) remember(key, texts[i]);
      if (!swapped.isDone) continue;
      for (const { key, text } of writes) remember(key, text);
      return;
    }
    const why = 'other processes were faster each time: too many of them decide over the same keys';
    throw new StoreError('SLUICE_STORE_FAILED', why, { sent: false });
  }

  function remember(key: string, text: string | undefined): void {
    if (text === undefined) known.delete(key);
    else {
      known.set(key, text);
      if (known.size > MAX_KNOWN) known.delete(known.keys().next().value as string);
    }
  }

  return { source, perform: (op, asks, endMs) => denials.perform(op, asks, send, endMs) };
}

/** Turns a driver's error into a StoreError. Drivers pass on Node's codes of network errors. */
export function toStoreError(error: unknown): SluiceError {
  type DriverError = { readonly code?: unknown; readonly errors?: readonly { readonly code?: unknown }[] };
  const { code, errors = [] } = (error ?? {}) as DriverError;
  const codes = [code, ...errors.map((one) => one.code)].map(String);
  if (!codes.some((one) => /^E[A-Z]+$/.test(one))) return asStoreError(error);
  return new StoreError(
    'SLUICE_STORE_FAILED',
    `the store cannot be reached: ${getMessage(error) || codes.join(', ')}`,
    {
      cause: error,
      kind: 'connection',
      sent: !codes.some((one) => NOT_SENT.includes(one)),
    },
  );
}
