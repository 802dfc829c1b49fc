import { PolicyError, shown } from '../../errors.ts';
import { SharedLines } from '../../events/shared-lines.ts';
import { EVENTS_KEPT_MS, EVENTS_KEY, MAX_EVENTS, rememberTimeline, Timeline } from '../../events/timeline.ts';
import { detached, startTimer, stopTimer, type Timer } from '../../platform.ts';
import { parsePrefix } from '../../values/prefix.ts';
import type { Store } from '../store.ts';
import { adoptClient, type AnyRedisClient } from './clients/adopt.ts';
import { OwnClient } from './clients/own-client.ts';
import type { Port } from './clients/port.ts';
import { removeSecrets } from './clients/redis-url.ts';
import { toStoreError } from './failure.ts';

/** A connection to a store's Redis, for anything other than decisions. */
export interface RedisConnection {
  readonly prefix: string;
  /** The application's timeline. */
  readonly timeline: Timeline;
  /** Runs a script over keys with one hash tag, without adding the prefix. Rejects with a StoreError. */
  eval(script: string, keys: readonly string[], args: readonly string[]): Promise<unknown>;
  /**
   * Calls `listener` for every message of a channel, and each time it is subscribed, because messages may have been
   * lost until then. Resubscribes by itself; does nothing if the client cannot subscribe. Returns a function that ends
   * it.
   */
  subscribe(channel: string, listener: () => void): () => void;
  /** Ends the connection if it was made for a URL. */
  close(): Promise<void>;
}

/** The ports of Redis stores, with their prefixes. */
const opened = new WeakMap<Store, { readonly through: object; readonly port: Port; readonly prefix: string }>();

export function rememberConnection(store: Store, through: object, port: Port, prefix: string): void {
  opened.set(store, { through, port, prefix });
  rememberTimeline(store, findTimelineAt(through, port, prefix));
}

/** How long after its end a subscription is renewed. */
const SUBSCRIBE_AGAIN_MS = 2000;

/** A connection through the client of a Redis store; undefined for any other store. */
export function findConnection(store: Store): RedisConnection | undefined {
  const known = opened.get(store);
  return known && makeConnection(known.through, known.port, known.prefix);
}

/**
 * A connection through a client, or to a URL.
 *
 * @param where - The function that was called, for errors: `redisSource`.
 * @throws PolicyError for a value that is not a client, and without a valid prefix. Nothing is opened before its first
 * use.
 */
export function connectTo(client: AnyRedisClient | string, prefix: unknown, where: string): RedisConnection {
  const checked = parsePrefix(prefix, where);
  const port = findPort(client, where);
  return makeConnection(typeof client === 'string' ? port : client, port, checked, typeof client === 'string');
}

const timelines = new WeakMap<object, Map<string, Timeline>>();

/** The timeline of an application, one for each client. */
function findTimelineAt(through: object, port: Port, prefix: string): Timeline {
  const byPrefix = timelines.get(through) ?? new Map<string, Timeline>();
  timelines.set(through, byPrefix);
  const connection = { prefix, eval: makeEval(port) };
  const made = (): Timeline => new Timeline(new SharedLines(connection, EVENTS_KEY, EVENTS_KEPT_MS, MAX_EVENTS));
  const timeline = byPrefix.get(prefix) ?? made();
  byPrefix.set(prefix, timeline);
  return timeline;
}

function makeEval(port: Port): RedisConnection['eval'] {
  return async (script, keys, args) => {
    const away = port.whyAway?.();
    if (away !== undefined) throw toStoreError(away, false);
    return port.eval(script, keys, args).catch((error: unknown) => {
      throw toStoreError(error);
    });
  };
}

function makeConnection(through: object, port: Port, prefix: string, isOwn = false): RedisConnection {
  return {
    prefix,
    timeline: findTimelineAt(through, port, prefix),
    eval: makeEval(port),
    subscribe(channel, listener) {
      let stop: (() => void) | undefined;
      let timer: Timer | undefined;
      let hasEnded = false;
      const begin = (): void => {
        timer = undefined;
        stop?.();
        stop = port.subscribe?.(channel, listener, () => {
          if (!hasEnded) timer ??= startTimer(SUBSCRIBE_AGAIN_MS, begin);
        });
      };
      detached(begin);
      return () => {
        hasEnded = true;
        stopTimer(timer);
        stop?.();
      };
    },
    async close() {
      if (isOwn) await port.close?.();
    },
  };
}

/**
 * The port of the client that a caller passed.
 *
 * @throws PolicyError for any other value.
 */
export function findPort(given: unknown, where: string, connectTimeoutMs?: number): Port {
  const port = typeof given === 'string' ? new OwnClient(given, connectTimeoutMs) : adoptClient(given);
  if (port !== undefined) return port;
  const url = (given as { url?: unknown } | null | undefined)?.url;
  throw new PolicyError(
    'client',
    `${where} takes a client of ioredis, iovalkey or node-redis, an object with evalsha(sha1, keys, args) and eval(script, keys, args), or a URL, got ${shown(given)}${typeof url === 'string' ? `; write ${where}(${shown(removeSecrets(url))}, { prefix: 'shop' })` : ''}${given === undefined ? '; is the environment variable with the URL set?' : ''}`,
    'SLUICE_OPTION_INVALID',
  );
}
