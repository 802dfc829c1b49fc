import type { AdoptedClient } from './port.ts';

/** A client or Cluster of ioredis 5 or 6, or of iovalkey, as far as it is used here. */
export interface IoredisClient {
  evalsha(sha1: string, keyCount: number, ...keysAndArgs: string[]): Promise<unknown>;
  eval(script: string, keyCount: number, ...keysAndArgs: string[]): Promise<unknown>;
  defineCommand: unknown;
  readonly isCluster?: boolean;
  readonly status?: string;
  /** Only of a cluster: the nodes of each hash slot, the primary first. */
  readonly slots?: readonly (readonly string[] | undefined)[];
  info?(section: string): Promise<unknown>;
  readonly options?: {
    readonly keyPrefix?: string | undefined;
    readonly autoResendUnfulfilledCommands?: boolean | undefined;
  };
  nodes?(role: 'all'): readonly IoredisClient[];
  duplicate?(...overrides: unknown[]): unknown;
}

/** A connection made by `duplicate`, to receive messages. */
interface Subscriber {
  readonly stream?: { unref?(): unknown };
  on(event: string, listener: (...args: never[]) => void): unknown;
  subscribe(channel: string): Promise<unknown>;
  disconnect(): void;
}

/** Whether an object with `evalsha` and `eval` is a client of this kind. */
export function isIoredis(client: object): client is IoredisClient {
  return typeof (client as Partial<IoredisClient>).defineCommand === 'function';
}

/** The port of such a client. */
export function adoptIoredis(client: IoredisClient): AdoptedClient {
  return {
    evalsha: (sha1, keys, args) => client.evalsha(sha1, keys.length, ...keys, ...args),
    eval: (script, keys, args) => client.eval(script, keys.length, ...keys, ...args),
    explain: (error) => explained(error, client.status),
    cluster: client.isCluster === true,
    sendsAgain: client.options?.autoResendUnfulfilledCommands !== false,
    nodeOf: (slot) => client.slots?.[slot]?.[0],
    info: async (section) => client.info?.(section),
    subscribe: (channel, onMessage, onEnd) => subscribe(client, channel, onMessage, onEnd),
  };
}

/**
 * Receives messages over a connection of its own. In a cluster any node works because messages go to all of them. The
 * connection does not reconnect by itself because timers of ioredis would keep the process alive.
 */
function subscribe(client: IoredisClient, channel: string, onMessage: () => void, onEnd: () => void): () => void {
  const node = client.isCluster === true ? client.nodes?.('all')[0] : client;
  const subscriber = node?.duplicate?.({
    lazyConnect: true,
    enableOfflineQueue: true,
    enableReadyCheck: false,
    retryStrategy: () => null,
    reconnectOnError: () => false,
    disconnectTimeout: 50,
  }) as Subscriber | undefined;
  let hasEnded = false;
  const end = (): void => {
    hasEnded = true;
    subscriber?.disconnect();
  };
  const fail = (): void => {
    if (hasEnded) return;
    end();
    onEnd();
  };
  if (subscriber === undefined) {
    queueMicrotask(fail);
    return end;
  }
  subscriber.on('error', () => undefined); // it ends as well
  subscriber.on('end', fail);
  subscriber.on('connect', () => subscriber.stream?.unref?.());
  subscriber.on('message', onMessage);
  // A message may have been missed until now. An ACL may deny the subscription.
  subscriber.subscribe(channel).then(onMessage, fail);
  return end;
}

/** The error without the command that ioredis attaches: its arguments would put the keys of clients into logs. */
function explained(error: unknown, status: string | undefined): unknown {
  if (!(error instanceof Error)) return error;
  if (!/^(Connection is closed|(Stream|Cluster) isn't (writeable|ready))/.test(error.message))
    return withoutCommand(error);
  if (status === 'end' || status === 'disconnecting') {
    return new Error(
      'the Redis client that you passed is closed, and Sluice never opens it again: close the limiters first, and then the client',
      { cause: error },
    );
  }
  const doing = status === undefined || status === 'ready' ? '' : ` (it is ${status})`;
  return new Error(`the client has no connection to Redis at the moment${doing}`, { cause: error });
}

/**
 * The same error, but for the `command` that ioredis attaches to a reply that is one: a new one, for the other is not
 * ours.
 */
export function withoutCommand(error: Error): Error {
  if (!('command' in error)) return error;
  const copy = new Error(error.message, error.cause === undefined ? undefined : { cause: error.cause });
  copy.name = error.name;
  if (error.stack !== undefined) copy.stack = error.stack;
  return copy;
}
