// What does a decision on Redis cost?
import { Redis } from 'ioredis';
// Not by its name: the package's index imports jest.
import { startRedis } from '../../testkit/dist/redis-server.js';
import { cpuUs, inTurn, moveAway, quantile, startChild, toRow } from './in-turn.mjs';
import { deciding, drawKeys, SHAPES } from './keys.mjs';
import { ON_REDIS } from './peers.mjs';

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
  const names = Object.keys(ON_REDIS);
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
  const { consume, denies } = ON_REDIS[name](client, limit ?? SHAPES[shape].limit, policies);
  const nextKey = drawKeys(SHAPES[shape]);
  return deciding({ consume, denies }, SHAPES[shape], ({ ms }) =>
    closedLoop({ consume, denies }, nextKey, inFlight, ms),
  );
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
  await Promise.all(Array.from({ length: inFlight }, keepAsking));
  return {
    ops,
    perSecond: (ops / (performance.now() - startMs)) * 1000,
    cpuUs: (cpuUs() - startUs) / ops,
    deniedShare: denied / ops,
    p50Ms: quantile(latencies, 0.5),
    p99Ms: quantile(latencies, 0.99),
  };
}
