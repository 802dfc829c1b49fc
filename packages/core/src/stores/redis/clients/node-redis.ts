import type { Port } from './port.ts';

/** A client, pool, cluster or sentinel of node-redis (the package `redis`): the parts used here. */
export interface NodeRedisClient {
  evalSha(sha1: string, call: { keys: string[]; arguments: string[] }): Promise<unknown>;
  eval(script: string, call: { keys: string[]; arguments: string[] }): Promise<unknown>;
  readonly isOpen: boolean;
  readonly isReady?: boolean;
  duplicate?(overrides: object): unknown;
  /** Only in a cluster. Not in a public type. */
  readonly slots?: unknown;
  readonly options?: { readonly socket?: object | undefined } | undefined;
}

/** A client made by `duplicate`, or a cluster: receives messages. */
interface Subscriber {
  on(event: string, listener: () => void): unknown;
  connect(): Promise<unknown>;
  subscribe(channel: string, listener: () => void): Promise<unknown>;
  unsubscribe(channel: string, listener: () => void): Promise<unknown>;
  readonly isOpen?: boolean;
  unref?(): void;
  destroy(): void;
}

/** Whether it is a node-redis client. The result of `client.legacy()` is not one: it takes callbacks. */
export function isNodeRedis(client: object): client is NodeRedisClient {
  const { evalSha, eval: evaluate, isOpen } = client as Partial<NodeRedisClient>;
  return typeof evalSha === 'function' && typeof evaluate === 'function' && typeof isOpen === 'boolean';
}

export function adoptNodeRedis(client: NodeRedisClient): Port {
  const cluster = 'slots' in client; // of a cluster alone
  let wasReady = false;
  return {
    evalsha: (sha1, keys, args) => client.evalSha(sha1, { keys: [...keys], arguments: [...args] }),
    eval: (script, keys, args) => client.eval(script, { keys: [...keys], arguments: [...args] }),
    cluster,
    // A closed cluster fails in odd ways, and a closed sentinel never responds. Calls queued while there is no
    // connection would count long after their requests have ended, so only the first connection is waited for.
    whyAway: () => {
      if (client.isOpen) {
        if (client.isReady !== false) wasReady = true;
        else if (wasReady) return new Error('the client has no connection to Redis at the moment');
        return undefined;
      }
      return new Error(
        'the client is closed or was never connected, and Sluice never connects a client that you passed: `await client.connect()` before the first decision, and close it after the limiters',
      );
    },
    subscribe: (channel, onMessage, onEnd) =>
      cluster ? subscribeAt(client, channel, onMessage, onEnd) : subscribe(client, channel, onMessage, onEnd),
  };
}

/** A cluster has a separate connection for messages. */
function subscribeAt(client: NodeRedisClient, channel: string, onMessage: () => void, onEnd: () => void): () => void {
  const cluster = client as unknown as Subscriber;
  cluster.subscribe(channel, onMessage).then(onMessage, onEnd);
  return () => {
    if (client.isOpen) cluster.unsubscribe(channel, onMessage).catch(() => undefined);
  };
}

/** Pools and sentinels cannot open a connection for messages. */
function subscribe(client: NodeRedisClient, channel: string, onMessage: () => void, onEnd: () => void): () => void {
  const subscriber = client.duplicate?.({ socket: { ...client.options?.socket, reconnectStrategy: false } }) as
    Subscriber | undefined;
  const begin = async (): Promise<void> => {
    if (subscriber === undefined || !('subscribe' in subscriber)) throw new Error('this client has no subscriptions');
    subscriber.on('error', onEnd);
    subscriber.on('end', onEnd);
    await subscriber.connect();
    subscriber.unref?.();
    await subscriber.subscribe(channel, onMessage);
  };
  begin().then(onMessage, onEnd);
  return () => {
    if (subscriber?.isOpen === true) subscriber.destroy();
  };
}
