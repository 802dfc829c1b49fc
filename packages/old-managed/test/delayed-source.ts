import type { Redis } from 'ioredis';
import type { PolicySource } from '@sluice/old-managed';
import { until } from '@sluice/testkit';

/** The policies in a Redis, which a process can load when the test allows it. There are no notifications. */
export interface DelayedSource extends PolicySource {
  /** Number of loads. */
  readonly loads: number;
  /** Holds back all loads from now on. Resolves when a load waits: it will return the current records. */
  hold(): Promise<void>;
  /** Releases the waiting loads, with the records of their time, and loads at once from now on. */
  release(): void;
}

export function delayedSource(redis: Redis): DelayedSource {
  let [loads, waiting] = [0, 0];
  let held: Promise<void> | undefined;
  let release = (): void => undefined;
  return {
    get loads() {
      return loads;
    },
    async load() {
      loads++;
      const records = await recordsIn(redis);
      waiting++;
      await held;
      waiting--;
      return records;
    },
    async hold() {
      held = new Promise((resolve) => {
        release = resolve;
      });
      await until('a load waits', () => waiting > 0);
    },
    release() {
      held = undefined;
      release();
    },
  };
}

/** As they are there, by name. */
export async function recordsIn(redis: Pick<Redis, 'hgetall'>): Promise<Record<string, unknown>> {
  const records = Object.entries(await redis.hgetall('sluice:policies')).filter(([name]) => name !== '#revision');
  return Object.fromEntries(records.map(([name, text]) => [name, JSON.parse(text) as unknown]));
}
