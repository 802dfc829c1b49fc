import type { Redis } from 'ioredis';
import {
  concurrency,
  createLimiter,
  escalate,
  slidingLog,
  type Acquisition,
  type Clock,
  type Decision,
  type Limiter,
  type Policy,
  type RedisStoreOptions,
  type SingleLimiterOptions,
  type Store,
} from '@sluice/old-core';
import { virtualRedisStore, type ChangingPolicy } from '@sluice/testkit';

/** What the limiters of a service count by, in the order in which they are numbered in a {@link Task}. */
export interface Service {
  /** One after the other: of one policy each, and of several. */
  readonly plain: readonly (readonly Policy[])[];
  /** The first one's, under other numbers: as a process of another release counts on the same keys. */
  readonly changed: readonly Policy[];
  /** Two that are asked for together, each by a key of its own. */
  readonly pair: readonly [Policy, Policy];
}

/** One thing that is asked of a limiter, by the number of the limiter. */
export type Task =
  | { readonly what: 'consume' | 'peek'; readonly limiter: number; readonly key: string; readonly cost: number }
  | { readonly what: 'reset' | 'unblock'; readonly limiter: number; readonly key: string }
  | { readonly what: 'block'; readonly limiter: number; readonly key: string; readonly durationMs: number }
  | { readonly what: 'acquire'; readonly key: string; readonly holder: string }
  | { readonly what: 'release'; readonly holder: string }
  /** Gives back some of what that decision took. */
  | { readonly what: 'refund'; readonly of: number; readonly cost: number };

export type Answer = Decision | 'done' | { readonly code: string; readonly message: string };

/** A value as bytes, and when it expires. */
export type Held = readonly [bytes: string, expireAtMs: number | 'by either numbers'];

const common = { timeoutMs: 60_000, onStoreError: 'throw', denialCache: false } as const;

type Pair = Limiter<{ left: string; right: string }>;

/** A service whose decisions are made in one way, under a prefix of their own. */
export class Way {
  readonly prefix: string;
  readonly limiters: readonly Limiter[];
  readonly #pair: Pair;
  readonly #slots: Limiter;
  readonly #held = new Map<string, Acquisition>();
  readonly #refunds = new Map<number, (cost: number) => Promise<void>>();

  constructor(prefix: string, store: Store, service: Service, changing: ChangingPolicy) {
    const make = (name: string, options: Partial<SingleLimiterOptions>): Limiter =>
      createLimiter({ name, store, ...common, ...options } as SingleLimiterOptions);
    const [first, ...others] = service.plain.map((list, i) =>
      make(`plain${String(i)}`, { policy: named(list), shared: i === 0 }),
    );
    const strict = service.plain[0]?.[0] as Policy;
    this.prefix = prefix;
    this.limiters = [
      first as Limiter,
      make('plain0', { policy: named(service.changed), shared: true }),
      ...others,
      make('log', { policy: slidingLog({ limit: 4, window: '1s' }) }),
      make('strict', { policy: strict, shared: true, escalate: escalate({ after: 3, block: '2s', decay: '10s' }) }),
      make('strict', { policy: strict, shared: true }),
      make('changing', { policy: changing.reference() }),
    ];
    this.#pair = createLimiter({
      name: 'pair',
      limits: [
        { name: 'left', policy: service.pair[0] },
        { name: 'right', policy: service.pair[1] },
      ],
      store,
      ...common,
    });
    this.#slots = make('slots', { policy: concurrency({ limit: 2, ttl: '1m' }) });
  }

  /** Asks at once; what number it is, later refunds say. */
  async perform(task: Task, number: number): Promise<Answer> {
    try {
      return await this.#perform(task, number);
    } catch (error) {
      const { code, message } = error as { code: string; message: string };
      // Which part of it cannot be read is found out by the script or by the client, whichever looks first.
      return { code, message: message.replace(this.prefix, '').replace(/cannot be read: .*;/, 'cannot be read;') };
    }
  }

  #perform(task: Task, number: number): Promise<Answer> {
    switch (task.what) {
      case 'consume':
      case 'peek': {
        const { key, cost } = task;
        if (task.limiter === this.limiters.length) {
          const keys = { left: key, right: `other-${key}` };
          return this.#note(number, this.#pair, this.#pair[task.what](keys, cost));
        }
        const limiter = this.limiters[task.limiter] as Limiter;
        return this.#note(number, limiter, limiter[task.what](key, cost));
      }
      case 'acquire':
        return this.#acquire(task.key, task.holder);
      case 'release':
        return done(this.#held.get(task.holder)?.release());
      case 'refund':
        return done(this.#refunds.get(task.of)?.(task.cost));
      case 'block':
        return done((this.limiters[task.limiter] as Limiter).block(task.key, task.durationMs));
      default:
        return done((this.limiters[task.limiter] as Limiter)[task.what](task.key));
    }
  }

  async #note(number: number, limiter: Limiter | Pair, asked: Promise<Decision>): Promise<Decision> {
    const decision = await asked;
    this.#refunds.set(number, (cost) => limiter.refund(decision, Math.min(cost, decision.cost)));
    return decision;
  }

  async #acquire(key: string, holder: string): Promise<Decision> {
    const acquired = await this.#slots.acquire(key, { holder });
    this.#held.set(holder, acquired);
    return acquired.decision;
  }

  /** Has the scripts loaded: one that is not known is sent again, behind what was sent meanwhile. */
  async warmUp(): Promise<void> {
    await this.limiters[0]?.consume('warm');
    await this.limiters[0]?.peek('warm');
  }

  async close(): Promise<void> {
    await Promise.all([...this.limiters, this.#pair, this.#slots].map((limiter) => limiter.close()));
  }
}

const done = async (edited: Promise<void> | undefined): Promise<'done'> => {
  await edited;
  return 'done';
};

function named(policies: readonly Policy[]): Policy | Policy[] {
  const [only, ...more] = policies;
  if (only !== undefined && more.length === 0) return only;
  return policies.map((policy, i) => ({ ...policy, name: `p${String(i)}` }));
}

/** A store that is asked for one decision at a time, in the general script. */
export function oneByOne(client: Redis, clock: Clock, prefix: string): Store {
  const store = virtualRedisStore(client, clock, { prefix }, 0);
  return { source: 'redis', perform: (requests, call) => store.perform(requests, call) };
}

export function inBatches(client: Redis, clock: Clock, options: RedisStoreOptions): Store {
  return virtualRedisStore(client, clock, options, 0);
}

/**
 * All that lies under a prefix, by what follows it. A key that is used under two sets of numbers may expire as the one
 * says or the other: a window that goes on keeps the expiry that it was given.
 */
export async function heldUnder(admin: Redis, prefix: string): Promise<ReadonlyMap<string, Held>> {
  const isIdentity = (key: string): boolean => /:~[^:]*$/.test(key); // of a refund: random by intent
  const keys = (await admin.keys(`${prefix}:*`)).filter((key) => !isIdentity(key)).sort();
  const held = keys.map(async (key): Promise<[string, Held]> => {
    const [bytes, expireAtMs] = await Promise.all([admin.dumpBuffer(key), admin.pexpiretime(key)]);
    return [
      key.slice(prefix.length),
      [bytes.toString('hex'), key.includes('}:plain0:') ? 'by either numbers' : expireAtMs],
    ];
  });
  return new Map(await Promise.all(held));
}
