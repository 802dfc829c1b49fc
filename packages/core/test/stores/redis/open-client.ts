import { once, type EventEmitter } from 'node:events';
import { Logger } from '@valkey/valkey-glide';
import type { AnyRedisClient } from '../../../src/stores/redis/clients/adopt.ts';

Logger.init('off');

export interface Opened {
  readonly client: AnyRedisClient | string;
  /** What closes it; none for a URL. */
  readonly end?: () => unknown;
}

/** A client or cluster of ioredis or iovalkey, once it is ready. */
export async function openIoredis(client: EventEmitter & { status: string; disconnect(): void }): Promise<Opened> {
  client.on('error', () => undefined);
  if (client.status !== 'ready') await once(client, 'ready');
  const end = (): void => {
    client.disconnect();
  };
  return { client: client as unknown as AnyRedisClient, end };
}

/** A client, pool or cluster of node-redis, once it is connected. */
export async function openNodeRedis(
  client: EventEmitter & { connect(): Promise<unknown>; destroy(): unknown },
): Promise<Opened> {
  client.on('error', () => undefined);
  await client.connect();
  return { client: client as unknown as AnyRedisClient, end: () => void client.destroy() };
}

/** A client of Valkey GLIDE, as docs/guides/redis-clients.md wraps it. */
export function wrapGlide(
  client: { customCommand(args: string[]): Promise<unknown>; close(): void },
  cluster = false,
): Opened {
  const call = (name: string, script: string, keys: readonly string[], args: readonly string[]): Promise<unknown> =>
    client.customCommand([name, script, String(keys.length), ...keys, ...args]);
  return {
    client: {
      evalsha: (sha1: string, keys: readonly string[], args: readonly string[]) => call('EVALSHA', sha1, keys, args),
      eval: (script: string, keys: readonly string[], args: readonly string[]) => call('EVAL', script, keys, args),
      cluster,
    },
    end: () => {
      client.close();
    },
  };
}
