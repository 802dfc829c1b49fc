import type { Redis } from 'ioredis';
import { fakeClock, virtualRedisStore } from '@sluice/testkit';
import { Player } from './player.ts';
import type { Step, Trace } from './read-traces.ts';

/** A short trace, and what Redis holds after it. */
export interface Stored {
  readonly name: string;
  readonly form: Trace['form'];
  readonly policies: Trace['policies'];
  readonly steps: readonly Step[];
  /** By the key without its prefix. */
  readonly keys: Readonly<Record<string, StoredKey>>;
}

interface StoredKey {
  /** The text of a string, the entries of a list, or the members of a sorted set, each before its score. */
  readonly value: string | readonly string[];
  /** When the key expires, in milliseconds from the last step. */
  readonly expiresAfterMs: number;
}

/** What Redis holds after the steps, by this core. */
export async function store(
  redis: Redis,
  prefix: string,
  { form, policies, steps }: Pick<Stored, 'form' | 'policies' | 'steps'>,
): Promise<Stored['keys']> {
  const clock = fakeClock();
  const player = new Player({ form, policies }, virtualRedisStore(redis, clock, { prefix }, 0), clock);
  for (const step of steps) await player.play(step);
  await player.close();
  const names = (await redis.keys(`${prefix}:*`)).filter((name) => !name.includes(':~')); // without the identities of refunds
  const keys = names.sort().map(async (name): Promise<[string, StoredKey]> => {
    const expiresAfterMs = (await redis.pexpiretime(name)) - clock.atMs;
    return [name.slice(prefix.length), { value: await valueOf(redis, name), expiresAfterMs }];
  });
  return Object.fromEntries(await Promise.all(keys));
}

async function valueOf(redis: Redis, name: string): Promise<StoredKey['value']> {
  switch (await redis.type(name)) {
    case 'list':
      return redis.lrange(name, 0, -1);
    case 'zset':
      return redis.zrange(name, '0', '-1', 'WITHSCORES');
    default:
      return (await redis.get(name)) ?? '';
  }
}
