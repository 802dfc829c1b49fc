// What does a limit cost a web server?
import { Client } from 'undici';
import { inTurn, OTHER, quantile, startChild, toRow } from './in-turn.mjs';
import { measured, startServer } from './redis.mjs';

const CONNECTIONS = 100;

/** By framework, its own peer. */
const PEERS = {
  express: 'express-rate-limit',
  fastify: '@fastify/rate-limit',
  koa: 'koa-ratelimit',
  nestjs: '@nestjs/throttler',
  hono: 'hono-rate-limiter',
};

/** Every client has an address of its own; or nine of ten are one, which has used up its limit. */
export const HTTP_SCENES = {
  allowed: { says: 'allowed', limit: 1_000_000_000, deniedShare: 0 },
  denied: { says: 'nine of ten denied', deniedShare: 0.9 },
};

export async function measureHttp({ generations, rounds, sliceMs, frameworks, wants, log }) {
  const redis = await startServer();
  const load = await startChild('http.mjs', {}, { core: OTHER });
  const ms = sliceMs / 2;
  const rows = [];
  try {
    for (const framework of frameworks ?? Object.keys(PEERS))
      for (const scene of Object.keys(HTTP_SCENES).filter(wants)) {
        log(`http, ${framework}, ${scene}`);
        // More than a new client asks for in a slice.
        const { limit = sliceMs, deniedShare } = HTTP_SCENES[scene];
        const members = [
          { name: 'by hand', store: 'none' },
          ...['sluice', PEERS[framework], 'rate-limiter-flexible'].map((name) => ({ name, store: 'memory' })),
          { name: 'sluice', store: 'redis' },
        ];
        const seen = await inTurn(members, { generations, rounds }, async ({ name, store }) => {
          await redis.admin.flushall();
          const redisUrl = store === 'redis' ? redis.url : undefined;
          const server = await startChild('server.mjs', { framework, name, limit, redisUrl });
          const { port } = await server.ask('about');
          const slice = (more) => load.ask('slice', { port, deniedShare, ms, ...more });
          const answer = deniedShare === 0 && (() => server.ask('answer', { connections: CONNECTIONS, ms }));
          const warm = async () => {
            await slice({ ms: Infinity, requests: 6 * sliceMs });
            if (deniedShare > 0) await slice({ ms: Infinity, requests: 2 * limit });
            // What is compiled for sockets is not compiled for these connections yet.
            for (let i = 0; i < 3 && answer; i++) await answer();
          };
          const usage = () => server.ask('usage');
          const measuredSlice = async () => ({
            ...(answer && { inProcessUs: (await answer()).cpuUs }),
            ...(await measured(redis.admin, slice, usage)),
          });
          return { warm, slice: measuredSlice, end: server.end };
        });
        for (const member of members) rows.push(toRow({ scene, framework, ...member }, seen.get(member)));
      }
  } finally {
    await load.end();
    await redis.end();
  }
  return rows;
}

/** Where each slice has new clients, the number of those before. */
let earlier = 0;

/** The load: every client sends its next request after the last answer. */
export function open() {
  return {
    slice: async ({ port, deniedShare, ms, requests: max = Infinity }) => {
      const latencies = [];
      let [requests, denied] = [0, 0];
      const startMs = performance.now();
      const endMs = startMs + (ms ?? Infinity);
      const clients = Array.from({ length: CONNECTIONS }, (_, i) => {
        // Those that are denied are one client, which has used up its limit.
        const number = i < deniedShare * CONNECTIONS ? 0 : 1 + i + earlier;
        return new Client(`http://127.0.0.1:${port}`, { localAddress: addressOf(number) });
      });
      const keepAsking = async (client) => {
        do {
          const askedMs = performance.now();
          const { statusCode, body } = await client.request({ path: '/', method: 'GET' });
          await body.dump();
          latencies.push(performance.now() - askedMs);
          requests++;
          if (statusCode === 429) denied++;
          else if (statusCode !== 200) throw new Error(`the server answers ${statusCode}`);
        } while (performance.now() < endMs && requests < max);
        await client.destroy();
      };
      await Promise.all(clients.map(keepAsking));
      if (deniedShare > 0) earlier += CONNECTIONS;
      return {
        ops: requests,
        perSecond: (requests / (performance.now() - startMs)) * 1000,
        deniedShare: denied / requests,
        p50Ms: quantile(latencies, 0.5),
        p99Ms: quantile(latencies, 0.99),
      };
    },
  };
}

/** Linux answers on all of 127.0.0.0/8. */
const addressOf = (number) => `127.1.${(number >> 8) & 255}.${number & 255 || 1}`;
