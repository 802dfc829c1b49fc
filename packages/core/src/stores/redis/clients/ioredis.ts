import type { Port } from './port.ts';

/** A client or Cluster of ioredis 5 or 6, or of iovalkey: the parts used here. */
export interface IoredisClient {
  evalsha(sha1: string, keyCount: number, ...keysAndArgs: string[]): Promise<unknown>;
  eval(script: string, keyCount: number, ...keysAndArgs: string[]): Promise<unknown>;
  defineCommand: unknown;
  readonly isCluster?: boolean;
  readonly status?: string;
  nodes?(role: 'all'): readonly IoredisClient[];
  duplicate?(...overrides: unknown[]): unknown;
}

/** Commands that were sent and have no reply yet. Not in a public type. */
interface WithQueue {
  readonly commandQueue?: { peekBack?(): { readonly command: { pipelineIndex?: number } } | undefined };
}

/** A connection made by `duplicate`, to receive messages. */
interface Subscriber {
  readonly stream?: { unref?(): unknown };
  on(event: string, listener: (...args: never[]) => void): unknown;
  subscribe(channel: string): Promise<unknown>;
  disconnect(): void;
}

export function isIoredis(client: object): client is IoredisClient {
  return typeof (client as Partial<IoredisClient>).defineCommand === 'function';
}

/** In one of these states, ioredis queues commands. */
const CONNECTING: ReadonlySet<string> = new Set(['wait', 'connecting', 'connect']);

export function adoptIoredis(client: IoredisClient): Port {
  let wasReady = false;
  return {
    evalsha: (sha1, keys, args) => preventResend(client, client.evalsha(sha1, keys.length, ...keys, ...args)),
    eval: (script, keys, args) => preventResend(client, client.eval(script, keys.length, ...keys, ...args)),
    cluster: client.isCluster === true,
    // Calls are queued only for the first connection: later ones would count long after their requests have ended.
    whyAway: () => {
      const { status = 'ready' } = client;
      if (status === 'ready') wasReady = true;
      if (status === 'ready' || (!wasReady && CONNECTING.has(status))) return undefined;
      return new Error(
        status === 'end' || status === 'disconnecting'
          ? 'the Redis client that you passed is closed, and Sluice never reopens it: close the limiters before the client'
          : `the client has no connection to Redis at the moment (it is ${status})`,
      );
    },
    subscribe: (channel, onMessage, onEnd) => subscribe(client, channel, onMessage, onEnd),
  };
}

/**
 * By default, ioredis resends commands without a reply when the connection breaks, and they would count twice. It
 * resends nothing of a pipeline that has some replies, so the last command is marked as if it were in the middle of
 * one.
 */
function preventResend(client: IoredisClient & WithQueue, reply: Promise<unknown>): Promise<unknown> {
  const last = client.commandQueue?.peekBack?.();
  if (last !== undefined) last.command.pipelineIndex ??= Number.NaN;
  return reply;
}

/**
 * In a cluster, any node works, because messages go to all of them. The connection does not reconnect by itself,
 * because ioredis's timers would keep the process alive.
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
  subscriber?.on('error', () => undefined); // it ends as well
  subscriber?.on('end', onEnd);
  subscriber?.on('connect', () => subscriber.stream?.unref?.());
  subscriber?.on('message', onMessage);
  (subscriber?.subscribe(channel) ?? Promise.reject(new Error('no node is known'))).then(onMessage, onEnd);
  return () => subscriber?.disconnect();
}
