// What does a limit cost a web server?
import { Client } from 'undici';
import { inTurn, OTHER, quantile, startChild, toRow } from './in-turn.mjs';
import { readMeter, startServer } from './redis.mjs';

const CONNECTIONS = 100;
const ENOUGH = 1_000_000_000;

const FLOORS = [
  { name: 'bare', store: 'none' },
  { name: 'by hand', store: 'none' },
];
const onBoth = (...names) => names.flatMap((name) => ['memory', 'redis'].map((store) => ({ name, store })));

const FRAMEWORKS = {
  express: [...FLOORS, ...onBoth('sluice', 'express-rate-limit', 'the drop-in', 'rate-limiter-flexible')],
  fastify: [...FLOORS, ...onBoth('sluice', '@fastify/rate-limit', 'rate-limiter-flexible')],
  koa: [...FLOORS, ...onBoth('sluice', 'koa-ratelimit', 'rate-limiter-flexible')],
  nestjs: [...FLOORS, ...onBoth('sluice', '@nestjs/throttler', 'rate-limiter-flexible')],
  hono: [...FLOORS, ...onBoth('sluice'), { name: 'hono-rate-limiter', store: 'memory' }],
};

/** Who asks: clients from addresses of their own, or behind a proxy, or nine of ten of them over their limit. */
const SCENES = {
  allowed: { limit: ENOUGH, proxy: false, deniedShare: 0 },
  // The limit is the plan's: more than a new client asks for in a slice.
  denied: { proxy: false, deniedShare: 0.9 },
  proxy: { limit: ENOUGH, proxy: true, deniedShare: 0 },
};

export async function measureHttp({ generations, rounds, sliceMs, warmRequests, httpLimit, ...plan }) {
  const { frameworks, wants, log } = plan;
  const redis = await startServer();
  const load = await startChild('http.mjs', {}, { core: OTHER });
  const rows = [];
  try {
    for (const framework of frameworks ?? Object.keys(FRAMEWORKS))
      for (const scene of Object.keys(SCENES).filter(wants)) {
        log(`http, ${framework}, ${scene}`);
        const members = FRAMEWORKS[framework];
        const { limit = httpLimit, proxy, deniedShare } = SCENES[scene];
        const seen = await inTurn(members, { generations, rounds }, async ({ name, store }) => {
          await redis.admin.flushall();
          const redisUrl = store === 'redis' ? redis.url : undefined;
          const server = await startChild('server.mjs', { framework, name, proxy, limit, redisUrl });
          const { port } = await server.ask('about');
          const asked = { port, proxy, deniedShare };
          const slice = (more) => load.ask('slice', { ...asked, ms: sliceMs, ...more });
          const warm = async () => {
            for (let requests = 0; requests < warmRequests;) requests += (await slice()).requests;
            if (deniedShare > 0) await slice({ ms: Infinity, requests: 2 * limit });
          };
          return { warm, slice: () => measured(redis.admin, server, slice), end: server.end };
        });
        const byHand = seen.get(members.find(({ name }) => name === 'by hand'));
        for (const member of members) rows.push(toRow({ scene, framework, ...member }, seen.get(member), byHand));
      }
  } finally {
    await load.end();
    await redis.end();
  }
  return rows;
}

async function measured(admin, server, slice) {
  const [before, redisBefore] = [await server.ask('usage'), await readMeter(admin)];
  const { requests, ...figures } = await slice();
  const [after, redisAfter] = [await server.ask('usage'), await readMeter(admin)];
  return {
    cpuUs: (after.cpuUs - before.cpuUs) / requests,
    redisUs: (redisAfter.cpuUs - redisBefore.cpuUs) / requests,
    ...figures,
  };
}

/** Where each slice has new clients, the number of those before. */
let earlier = 0;

/** The load: every client sends its next request after the last answer. */
export function open() {
  return {
    slice: async ({ port, proxy, deniedShare, ms, requests: max = Infinity }) => {
      const latencies = [];
      let [requests, denied] = [0, 0];
      const startMs = performance.now();
      const endMs = startMs + ms;
      const clients = Array.from({ length: CONNECTIONS }, (_, i) => {
        // Those that are denied are one client, which has used up its limit.
        const number = i < deniedShare * CONNECTIONS ? 0 : 1 + i + earlier;
        return {
          number,
          client: new Client(`http://127.0.0.1:${port}`, proxy ? {} : { localAddress: addressOf(number) }),
        };
      });
      const keepAsking = async ({ number, client }) => {
        const headers = proxy ? { 'x-forwarded-for': `203.0.${(number >> 8) & 255}.${number & 255}` } : {};
        do {
          const askedMs = performance.now();
          const { statusCode, body } = await client.request({ path: '/', method: 'GET', headers });
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
        requests,
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
