// What does a decision on Redis cost?
import RedisStore from '@fastify/rate-limit/store/RedisStore.js';
import { ThrottlerStorageRedisService } from '@nest-lab/throttler-storage-redis';
import { createLimiter, fixedWindow, redisStore, slidingWindow } from '@sluice/core';
import Limiter from 'async-ratelimiter';
import { Redis } from 'ioredis';
import { RedisStore as ExpressStore } from 'rate-limit-redis';
import { RateLimiterRedis, RateLimiterUnion } from 'rate-limiter-flexible';
// Not by its name: the package's index imports jest.
import { startRedis } from '../../testkit/dist/redis-server.js';
import { cpuUs, inTurn, moveAway, quantile, startChild, toRow } from './in-turn.mjs';
import { drawKeys, keysOf, SHAPES } from './keys.mjs';

const WINDOW_MS = 3_600_000;
/** A prime, so that the sample of latencies does not always have the same place in flight. */
const SAMPLED = 17;
/** A loop lets the event loop turn after this many decisions, as a server's does: those from memory would starve it. */
const IN_ONE_TURN = 64;

export const REDIS_SCENES = {
  lone: { says: 'one in flight', shape: 'many', inFlight: 1, policies: 1 },
  many: { says: '64 in flight', shape: 'many', inFlight: 64, policies: 1 },
  hot: { says: '64 in flight, one key', shape: 'one', inFlight: 64, policies: 1 },
  denied: { says: '64 in flight, nine of ten denied', shape: 'denied', inFlight: 64, policies: 1 },
  three: { says: '64 in flight, three limits', shape: 'many', inFlight: 64, policies: 3 },
};

const repeat = (count, make) => Array.from({ length: count }, (_, i) => make(i));
/** For packages without combined limits: a call for each, all at once. */
const together = (consumers) => (key) => Promise.all(consumers.map((consume) => consume(key)));
const anyAbove = (limit, used) => (answers) => answers.some((answer) => used(answer) > limit);

function sluice(client, limit, policies, make) {
  const limiter = createLimiter({
    policy: [
      make({ limit, window: '1h', name: 'first' }),
      ...repeat(policies - 1, (i) => fixedWindow({ limit: 1e9, window: `${i + 2}h`, name: `other-${i}` })),
    ],
    store: redisStore(client, { prefix: make.name }),
    // A pause of the machine is no failure.
    onStoreError: 'throw',
    timeoutMs: 5_000,
  });
  return { consume: (key) => limiter.consume(key), denies: ({ allowed }) => !allowed };
}

/** By name: makes, for a client of ioredis, a limit and a number of limits, what consumes a unit of a key. */
export const contenders = {
  INCR: (client, limit) => ({ consume: (key) => client.incr(key), denies: (used) => used > limit }),
  sluice: (client, limit, policies) => sluice(client, limit, policies, fixedWindow),
  'sluice, slidingWindow': (client, limit, policies) => sluice(client, limit, policies, slidingWindow),
  'rate-limit-redis': (client, limit, policies) => {
    const stores = repeat(policies, (i) => {
      const store = new ExpressStore({ prefix: `rl${i}:`, sendCommand: (...words) => client.call(...words) });
      store.init({ windowMs: WINDOW_MS });
      return (key) => store.increment(key);
    });
    return { consume: together(stores), denies: anyAbove(limit, ({ totalHits }) => totalHits) };
  },
  'rate-limiter-flexible': (client, limit, policies) => {
    const about = { storeClient: client, points: limit, duration: WINDOW_MS / 1000 };
    const limiters = repeat(policies, (i) => new RateLimiterRedis({ ...about, keyPrefix: `rlflx${i}` }));
    const limiter = policies === 1 ? limiters[0] : new RateLimiterUnion(...limiters);
    const denied = (reason) => {
      if (reason instanceof Error) throw reason;
      return null;
    };
    return { consume: (key) => limiter.consume(key).catch(denied), denies: (answer) => answer === null };
  },
  '@fastify/rate-limit': (client, limit, policies) => {
    const stores = repeat(policies, (i) => new RedisStore(false, false, client, `fastify-${i}-`));
    const consumers = stores.map(
      (store) => (key) =>
        new Promise((resolve, reject) => {
          store.incr(key, (error, answer) => (error ? reject(error) : resolve(answer)), WINDOW_MS, limit);
        }),
    );
    return { consume: together(consumers), denies: anyAbove(limit, ({ current }) => current) };
  },
  // A log of every unit: its keys grow while they are measured.
  'koa-ratelimit': (client, limit, policies) => {
    const consumers = repeat(
      policies,
      (i) => (key) => new Limiter({ db: client, id: `${i}${key}`, max: limit, duration: WINDOW_MS }).get(),
    );
    return { consume: together(consumers), denies: (answers) => answers.some(({ remaining }) => remaining === 0) };
  },
  '@nestjs/throttler': (client, limit, policies) => {
    const storage = new ThrottlerStorageRedisService(client);
    const consumers = repeat(policies, (i) => (key) => storage.increment(key, WINDOW_MS, limit, WINDOW_MS, `n${i}`));
    return { consume: together(consumers), denies: (answers) => answers.some(({ isBlocked }) => isBlocked) };
  },
};

/** A Redis of this run alone, on another core than the measured process. */
export async function startServer() {
  const server = await startRedis(['--maxmemory', '0']);
  moveAway(server.pid);
  const admin = new Redis(server.url);
  const end = async () => {
    admin.disconnect();
    await server.stop();
  };
  return { url: server.url, admin, end };
}

export async function measureRedis({ generations, rounds, sliceMs, wants, log }) {
  const names = Object.keys(contenders);
  const rows = [];
  for (const [scene, { says }] of Object.entries(REDIS_SCENES).filter(([name]) => wants(name))) {
    log(`redis, ${says}`);
    const server = await startServer();
    try {
      const seen = await inTurn(names, { generations, rounds }, async (name) => {
        const child = await startChild('redis.mjs', { name, scene, url: server.url });
        const slice = () => measured(server.admin, () => child.ask('slice', { ms: sliceMs }));
        return { slice, warm: () => child.ask('warm', { ms: sliceMs }), end: child.end };
      });
      for (const name of names) rows.push(toRow({ scene, name }, seen.get(name), seen.get('INCR')));
    } finally {
      await server.end();
    }
  }
  return rows;
}

/**
 * The figures of a slice, with the server's CPU time and the bytes on the wire of each decision.
 *
 * @param usage - Reads the CPU time of the measured process, where the slice does not tell of it.
 */
export async function measured(admin, slice, usage) {
  const [before, redisBefore] = [await usage?.(), await readMeter(admin)];
  const { ops, ...figures } = await slice();
  const [after, redisAfter] = [await usage?.(), await readMeter(admin)];
  const spent = (field) => (redisAfter[field] - redisBefore[field]) / ops;
  return {
    ...(usage && { cpuUs: (after.cpuUs - before.cpuUs) / ops }),
    ...{ ...figures, redisUs: spent('cpuUs'), inBytes: spent('inBytes'), outBytes: spent('outBytes') },
  };
}

/** What Redis has spent so far. */
async function readMeter(admin) {
  const info = await admin.info('everything');
  const field = (name) => Number(new RegExp(`^${name}:([\\d.]+)`, 'm').exec(info)[1]);
  return {
    cpuUs: (field('used_cpu_user') + field('used_cpu_sys')) * 1e6,
    inBytes: field('total_net_input_bytes'),
    outBytes: field('total_net_output_bytes'),
  };
}

/** The measured process. */
export function open({ name, scene, url, limit }) {
  const { shape, inFlight, policies } = REDIS_SCENES[scene];
  const client = new Redis(url);
  const { consume, denies } = contenders[name](client, limit ?? SHAPES[shape].limit, policies);
  const nextKey = drawKeys(SHAPES[shape]);
  const slice = ({ ms }) => closedLoop({ consume, denies }, nextKey, inFlight, ms);
  return {
    slice,
    warm: async ({ ms }) => {
      const keys = keysOf(SHAPES[shape]);
      for (let i = 0; i < keys.length; i += 500) await Promise.all(keys.slice(i, i + 500).map(consume));
      await slice({ ms });
    },
    denials: async ({ times }) => {
      const seen = [];
      for (let i = 0; i < times; i++) seen.push(denies(await consume('key')));
      return seen;
    },
  };
}

/** Keeps `inFlight` decisions under way for `ms`: each that resolves starts the next. */
async function closedLoop({ consume, denies }, nextKey, inFlight, ms) {
  const latencies = [];
  let [ops, denied, isDue] = [0, 0, false];
  const [startUs, startMs] = [cpuUs(), performance.now()];
  const endMs = startMs + ms;
  const keepAsking = async () => {
    for (let asked = 1; !isDue; asked++) {
      const askedMs = ops % SAMPLED === 0 ? performance.now() : 0;
      if (denies(await consume(nextKey()))) denied++;
      // A look at the clock costs a microsecond on some machines.
      if ((++ops & 31) === 0 && performance.now() >= endMs) isDue = true;
      if (askedMs !== 0) latencies.push(performance.now() - askedMs);
      if (asked % IN_ONE_TURN === 0) await new Promise(setImmediate);
    }
  };
  await Promise.all(repeat(inFlight, keepAsking));
  return {
    ops,
    perSecond: (ops / (performance.now() - startMs)) * 1000,
    cpuUs: (cpuUs() - startUs) / ops,
    deniedShare: denied / ops,
    p50Ms: quantile(latencies, 0.5),
    p99Ms: quantile(latencies, 0.99),
  };
}
