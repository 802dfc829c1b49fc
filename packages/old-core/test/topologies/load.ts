import { setTimeout as sleep } from 'node:timers/promises';
import type { Decision, Limiter } from '@sluice/old-core';
import { until } from '@sluice/testkit';

/** The outcomes of the calls for one key. */
export interface Tally {
  /** Allowed by the store up to the {@link Load.mark}, and after it. */
  before: number;
  after: number;
  /** Allowed by this process while the store was away. */
  local: number;
  /** Since the store last denied it. */
  denied: number;
}

export interface Load {
  readonly tallies: ReadonlyMap<string, Tally>;
  /** Errors thrown to the application. */
  readonly errors: unknown[];
  /** From here on, decisions of the store count as `after` instead of `before`. */
  mark(): void;
  /** Resolves when the store has allowed this many units, all keys together. */
  hasAllowed(units: number): Promise<void>;
  /** Continues until the store denies every key, then stops. */
  untilDenied(): Promise<void>;
  stop(): Promise<void>;
}

const IN_FLIGHT = 8;

/** Consumes units of the keys in turn, several at once, without a pause. */
export function startLoad<Key>(limiter: Limiter<Key>, keys: readonly string[], keyOf: (key: string) => Key): Load {
  const tallies = new Map(keys.map((key): [string, Tally] => [key, { before: 0, after: 0, local: 0, denied: 0 }]));
  const errors: unknown[] = [];
  let when: 'before' | 'after' = 'before';
  let isStopped = false;

  const record = (tally: Tally, { source, allowed }: Decision): void => {
    if (source !== 'redis') tally.local += allowed ? 1 : 0;
    else if (allowed) tally[when]++;
    else tally.denied++;
  };
  const work = async (first: number): Promise<void> => {
    for (let i = first; !isStopped; i++) {
      const key = keys[i % keys.length] as string;
      try {
        record(tallies.get(key) as Tally, await limiter.consume(keyOf(key)));
      } catch (error) {
        errors.push(error);
      }
      await sleep(1); // local decisions are immediate; lets other work run
    }
  };
  const workers = Array.from({ length: IN_FLIGHT }, (_, i) => work(i));
  const all = (): Tally[] => [...tallies.values()];
  const stop = async (): Promise<void> => {
    isStopped = true;
    await Promise.all(workers);
  };
  return {
    tallies,
    errors,
    mark() {
      when = 'after';
    },
    async hasAllowed(units) {
      await until(
        `${String(units)} units are allowed`,
        () => all().reduce((sum, { before, after }) => sum + before + after, 0) >= units,
      );
    },
    async untilDenied() {
      for (const tally of all()) tally.denied = 0;
      await until('every key is denied', () => all().every(({ denied }) => denied > 0));
      await stop();
    },
    stop,
  };
}
