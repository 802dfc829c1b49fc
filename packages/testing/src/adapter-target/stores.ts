import { memoryStore, redisStore, type Store, type StoreAnswer, type StoreRequest } from '@sluice/core';
import { Redis } from 'ioredis';
import { clockedRedisStore } from '@sluice/core/spi';
import type { Scene } from './scene.ts';
import type { AdapterTarget } from './target.ts';

/** The parameters of `{ "$": "store" }`. */
export interface StoreDescription {
  readonly id: string;
  readonly kind: 'memory' | 'redis' | 'rejects' | 'throws' | 'never answers';
  /** Default: the store's own. */
  readonly clock?: { readonly id: string; readonly atMs: number };
  readonly url?: string;
  readonly prefix?: string;
  /** Records each call in the list `calls`, and each request that was answered in the list named by its `op`. */
  readonly watched?: boolean;
  /** Holds answers until this gate opens: those of consumes alone. */
  readonly hold?: string;
  /** Passes for a store of Redis, which answers later. */
  readonly asRedis?: boolean;
  /** Not replaced by what `through` of the target returns. */
  readonly own?: boolean;
}

/** Connections to the Redis servers of a driver. They are not opened again: a server that is gone is meant to be. */
export class RedisClients {
  readonly #clients = new Map<string, Redis>();

  to(url: string): Redis {
    const known = this.#clients.get(url);
    if (known !== undefined) return known;
    const client = new Redis(url, { retryStrategy: () => null });
    client.on('error', () => {});
    this.#clients.set(url, client);
    return client;
  }

  close(): void {
    for (const client of this.#clients.values()) client.disconnect();
    this.#clients.clear();
  }
}

/** Makes a described store, or returns the one of this scenario that has its id. */
export function describedStore(
  described: StoreDescription,
  scene: Scene,
  clients: RedisClients,
  target: AdapterTarget,
): Store {
  const known = scene.stores.get(described.id);
  if (known !== undefined) return known;
  const plain = plainStore(described, scene, clients);
  const through = described.own === true ? plain : (target.through?.(plain) ?? plain);
  const isSeen = described.watched === true || described.hold !== undefined || described.asRedis === true;
  const store = isSeen ? watchedStore(through, described, scene) : through;
  scene.stores.set(described.id, store);
  return store;
}

function plainStore(
  { kind, clock, url = '', prefix = '' }: StoreDescription,
  scene: Scene,
  clients: RedisClients,
): Store {
  const asked = clock && scene.clock(clock.id, clock.atMs);
  switch (kind) {
    case 'memory':
      return memoryStore(asked === undefined ? {} : { clock: asked });
    case 'redis':
      return asked === undefined
        ? redisStore(clients.to(url), { prefix })
        : clockedRedisStore(clients.to(url), asked, { prefix });
    case 'rejects':
      return { source: 'redis', perform: async () => Promise.reject(new Error('connection lost')) };
    case 'throws':
      return {
        source: 'redis',
        perform() {
          throw new Error('broken');
        },
      };
    case 'never answers':
      return { source: 'redis', perform: async () => new Promise(() => {}) };
  }
}

function watchedStore(inner: Store, { id, hold, asRedis = false }: StoreDescription, scene: Scene): Store {
  const answered = (requests: readonly StoreRequest[]): void => {
    for (const { op } of requests) scene.records.add(`${id}/${op}`, {});
  };
  const waits = async (requests: readonly StoreRequest[], answers: StoreAnswers): Promise<StoreAnswers> => {
    answered(requests);
    if (hold !== undefined && requests.some(({ op }) => op === 'consume')) await scene.gate(hold).opened;
    return answers;
  };
  return {
    source: asRedis ? 'redis' : inner.source,
    perform(requests, call) {
      scene.records.add(
        `${id}/calls`,
        requests.map(({ op }) => op),
      );
      const answers = inner.perform(requests, call);
      if (answers instanceof Promise) return answers.then((all) => waits(requests, all));
      if (hold !== undefined) return waits(requests, answers);
      answered(requests);
      return answers;
    },
  };
}

type StoreAnswers = readonly (StoreAnswer | Error)[];
