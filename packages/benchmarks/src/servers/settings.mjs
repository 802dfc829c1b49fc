import { once } from 'node:events';
import { Redis } from 'ioredis';
import { fixedWindow, redisStore } from '@sluice/core';

export const WINDOW_MS = 3_600_000;
const SO_MANY = 1_000_000_000;
/** Units of a client in a window. */
export let LIMIT = SO_MANY;
export const BODY = { ok: true };

/** Sets {@link LIMIT} for the servers that are made from then on. */
export function limitTo(limit = SO_MANY) {
  LIMIT = limit;
}

const clients = [];

/** A client of ioredis that disconnects when the server closes. */
export function clientOf(redisUrl) {
  const client = new Redis(redisUrl);
  clients.push(client);
  return client;
}

/** The options of all our servers: the algorithm of the peers, so that the work is the same. */
export function sluiceOptions(redisUrl) {
  return {
    policy: fixedWindow({ limit: LIMIT, window: WINDOW_MS }),
    ...(redisUrl === undefined
      ? {}
      : { store: redisStore(clientOf(redisUrl), { prefix: 'sluice' }), onStoreError: 'deny', timeoutMs: 5_000 }),
  };
}

/** The two header fields of a limiter, without a limiter: the least cost of any limiter. */
export function fieldsByHand() {
  let left = LIMIT;
  return (set) => {
    set('RateLimit-Policy', `"default";q=${LIMIT};w=3600`);
    set('RateLimit', `"default";r=${--left};t=3600`);
  };
}

/** A listening server, as the measurements need it. */
export async function listening(server, close) {
  if (!server.listening) await once(server, 'listening');
  return {
    port: server.address().port,
    close: async () => {
      server.closeAllConnections();
      await close?.();
      server.close();
      for (const client of clients.splice(0)) client.disconnect();
    },
  };
}
