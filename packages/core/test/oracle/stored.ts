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

const START_MS = 4_102_444_800_000;
type Call = Omit<Step, 'atMs'> & { readonly afterMs?: number };

const at = (...calls: readonly Call[]): Step[] => {
  let atMs = START_MS;
  return calls.map(({ afterMs = 0, ...call }) => ({ ...call, atMs: (atMs += afterMs) }));
};
const use = (cost: number, afterMs = 0): Call => ({ op: 'consume', key: 'ann', cost, afterMs });
const take = (afterMs = 0): Call => ({ op: 'acquire', key: 'ann', cost: 1, afterMs, holder: String(afterMs) });
const charge = (cost: number): Call => ({ op: 'charge', key: 'ann', cost });
const block: Call = { op: 'block', key: 'ann', duration: '1h' };

const POLICIES = {
  'fixed window': { kind: 'fixedWindow', limit: 5, window: '1m' },
  'fixed window on the clock': { kind: 'fixedWindow', limit: 5, window: '7s', align: 'clock' },
  'sliding window': { kind: 'slidingWindow', limit: 5, window: '10s' },
  'sliding window of one block': { kind: 'slidingWindow', limit: 5, window: '10s', precision: '10s' },
  'sliding counter': { kind: 'slidingCounter', limit: 5, window: '10s' },
  'sliding log': { kind: 'slidingLog', limit: 5, window: '10s' },
  'token bucket': { kind: 'tokenBucket', capacity: 5, refill: 3, every: '7s' },
  'token bucket with overdraft': { kind: 'tokenBucket', capacity: 5, refill: 3, every: '7s', overdraft: 4 },
  'interval bucket': { kind: 'tokenBucket', capacity: 5, refill: 3, every: '7s', mode: 'interval' },
  'leaky bucket': { kind: 'leakyBucket', limit: 3, window: '7s', maxDelay: '10s' },
} as const;
const slots = { kind: 'concurrency', limit: 5, ttl: '30s' } as const;
const several = [
  { kind: 'fixedWindow', name: 'per-ip', limit: 5, window: '1m' },
  { kind: 'tokenBucket', name: 'per-user', capacity: 9, refill: 3, every: '7s' },
  { kind: 'slidingLog', name: 'per-route', limit: 5, window: '10s' },
] as const;

/** Each kind of state: young, with units of several instants, charged beyond its limit, and blocked with and without units. */
export const SCENARIOS: readonly Omit<Stored, 'keys'>[] = [
  ...Object.entries(POLICIES).flatMap(([name, policy]) =>
    [
      { name: `${name}, one unit`, steps: at(use(1)) },
      {
        name: `${name}, units of several instants`,
        steps: at(use(1), use(1, 1_500), use(2, 1_001), use(1, 4_000), use(9)),
      },
      { name: `${name}, charged beyond its limit`, steps: at(use(2), charge(20)) },
      { name: `${name}, blocked`, steps: at(use(2), block) },
    ].map((scenario) => ({ ...scenario, form: 'one' as const, policies: [policy] })),
  ),
  { name: 'a block alone', form: 'one', policies: [POLICIES['fixed window']], steps: at(block) },
  {
    name: 'a block alone, of a policy with long states',
    form: 'one',
    policies: [POLICIES['sliding log']],
    steps: at(block),
  },
  { name: 'slots, one', form: 'one', policies: [slots], steps: at(take()) },
  { name: 'slots, of several instants', form: 'one', policies: [slots], steps: at(take(), take(1_500), take(1_001)) },
  { name: 'slots, blocked', form: 'one', policies: [slots], steps: at(take(), block) },
  { name: 'a list of policies on one key', form: 'list', policies: several, steps: at(use(1), use(2, 1_500)) },
  {
    name: 'limits with a key each',
    form: 'limits',
    policies: several,
    steps: at(
      { op: 'consume', key: { 'per-ip': 'ann', 'per-user': 'bob', 'per-route': 'cid' }, cost: 2 },
      { op: 'block', key: { 'per-user': 'bob' }, duration: '1h' },
    ),
  },
];
