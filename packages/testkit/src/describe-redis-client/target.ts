import type { redisStore } from '@sluice/old-core';
import type { Endpoint } from './servers.ts';

/** Any client that `redisStore` takes. */
export type AnyClient = Parameters<typeof redisStore>[0];

/** A client under test. What `connect` makes has the settings that the guide recommends. */
export interface RedisClientTarget {
  /** Whether it is for a cluster. Default false. */
  readonly cluster?: boolean;
  /** Whether `connect` answers what a client is made for, a URL, and none is handed in. Default false. */
  readonly ours?: boolean;
  /** A connected client of the application, with a function to close it. */
  readonly connect: (endpoint: Endpoint) => TestClient | Promise<TestClient>;
  /** A client that is not connected yet, when its library supports that. */
  readonly unconnected?: (endpoint: Endpoint) => TestClient & { readonly isConnected: () => boolean };
  /** Clients made in other ways, of which only the decisions are tested. */
  readonly variants?: Readonly<Record<string, RedisClientTarget['connect']>>;
  /** A client that puts this in front of every key, where its library can do that. */
  readonly prefixed?: (endpoint: Endpoint, keyPrefix: string) => TestClient | Promise<TestClient>;
}

export interface TestClient {
  readonly client: AnyClient;
  /** Resolves when it has ended. */
  readonly close: () => unknown;
}
