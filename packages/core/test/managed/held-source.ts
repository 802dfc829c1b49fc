import type { Redis } from 'ioredis';
import type { PolicySource } from '@sluice/core';
import { until } from '@sluice/testkit';

/** The policies in a Redis, of which a process hears when the test lets it: it is told of nothing, and asks in vain. */
export interface HeldSource extends PolicySource {
  /** How often it was asked. */
  readonly loads: number;
  /** From now on nothing is answered. Resolves when somebody waits for an answer: he will be told what is there now. */
  hold(): Promise<void>;
  /** Answers what was there when it was asked, and from now on at once. */
  release(): void;
}

export function heldSource(redis: Redis): HeldSource {
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
      await until('somebody asks', () => waiting > 0);
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
