import { setTimeout as sleep } from 'node:timers/promises';
import type { Decision, Limiter } from '@sluice/core';
import { until } from '@sluice/testkit';

/** What became of the calls for one key. */
export interface Tally {
  /** Admitted by the store up to the {@link Load.mark}, and after it. */
  before: number;
  after: number;
  /** Admitted by this process while the store was away. */
  local: number;
  /** Since the store last refused it. */
  denied: number;
}

export interface Load {
  readonly tallies: ReadonlyMap<string, Tally>;
  /** What was thrown at the application. */
  readonly errors: unknown[];
  /** What the store has decided before counts as before, from here on as after. */
  mark(): void;
  /** Resolves when the store has admitted so many units, all keys together. */
  hasAdmitted(units: number): Promise<void>;
  /** Goes on until the store has refused every key, now, and ends. */
  untilRefused(): Promise<void>;
  stop(): Promise<void>;
}

const IN_FLIGHT = 8;

/** Consumes units of the keys in turn, several at once, without a rest. */
export function startLoad<Key>(limiter: Limiter<Key>, keys: readonly string[], keyOf: (key: string) => Key): Load {
  const tallies = new Map(keys.map((key): [string, Tally] => [key, { before: 0, after: 0, local: 0, denied: 0 }]));
  const errors: unknown[] = [];
  let when: 'before' | 'after' = 'before';
  let isOver = false;

  const note = (tally: Tally, { source, allowed }: Decision): void => {
    if (source !== 'redis') tally.local += allowed ? 1 : 0;
    else if (allowed) tally[when]++;
    else tally.denied++;
  };
  const work = async (first: number): Promise<void> => {
    for (let i = first; !isOver; i++) {
      const key = keys[i % keys.length] as string;
      try {
        note(tallies.get(key) as Tally, await limiter.consume(keyOf(key)));
      } catch (error) {
        errors.push(error);
      }
      await sleep(1); // local decisions come at once: others get a turn
    }
  };
  const workers = Array.from({ length: IN_FLIGHT }, (_, i) => work(i));
  const all = (): Tally[] => [...tallies.values()];
  const stop = async (): Promise<void> => {
    isOver = true;
    await Promise.all(workers);
  };
  return {
    tallies,
    errors,
    mark() {
      when = 'after';
    },
    async hasAdmitted(units) {
      await until(
        `${String(units)} units are admitted`,
        () => all().reduce((sum, { before, after }) => sum + before + after, 0) >= units,
      );
    },
    async untilRefused() {
      for (const tally of all()) tally.denied = 0;
      await until('every key is refused', () => all().every(({ denied }) => denied > 0));
      await stop();
    },
    stop,
  };
}
