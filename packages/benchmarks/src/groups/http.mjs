import { inGenerations, rowOf } from '../measure/interleave.mjs';
import { MEASURED, OTHER } from '../processes/cores.mjs';
import { readMeter, startServer } from '../processes/redis.mjs';
import { Worker } from '../processes/worker.mjs';

const CONNECTIONS = 64;
const COMPARED = ['cpuUs'];
/** With denied requests: so that a percent of them is a connection. */
const CONNECTIONS_OF_DENIED = 100;

const FLOORS = [
  { name: 'bare', kind: 'floor', store: 'none' },
  { name: 'by hand', kind: 'floor', store: 'none' },
];
const OURS = [
  { name: 'sluice', kind: 'ours', store: 'memory' },
  { name: 'sluice', kind: 'ours', store: 'redis' },
];
const peer = (name) => ['memory', 'redis'].map((store) => ({ name, kind: 'peer', store }));

export const frameworks = {
  express: [...FLOORS, ...OURS, ...peer('express-rate-limit'), ...peer('rate-limiter-flexible')],
  fastify: [...FLOORS, ...OURS, ...peer('@fastify/rate-limit'), ...peer('rate-limiter-flexible')],
  koa: [...FLOORS, ...OURS, ...peer('koa-ratelimit'), ...peer('rate-limiter-flexible')],
  nestjs: [...FLOORS, ...OURS, ...peer('@nestjs/throttler'), ...peer('rate-limiter-flexible')],
  hono: [...FLOORS, ...OURS, { name: 'hono-rate-limiter', kind: 'peer', store: 'memory' }],
  web: [...FLOORS, ...OURS],
};

/** The scenes of `--scene`. */
export const httpScenes = Object.keys(frameworks);

/** Requests over HTTP: rate, CPU time of the server, and the share of the same server without a limit. */
export async function measureHttp(plan) {
  const rows = [];
  const scenes = [
    ...httpScenes.filter(plan.wants).map((framework) => ({ framework, node: undefined })),
    ...plan.otherNodes.flatMap((node) =>
      httpScenes
        .filter(plan.hasScenes ? plan.wants : (name) => name === 'express')
        .map((framework) => ({ framework, node })),
    ),
  ];
  const redis = await startServer();
  const load = new Worker('http-load.mjs', { core: OTHER });
  await load.ask('open');
  try {
    for (const scene of scenes) rows.push(...(await measureFramework(plan, scene, redis, load)));
  } finally {
    await load.end();
    await redis.stop();
  }
  return rows;
}

async function measureFramework(plan, { framework, node }, redis, load) {
  plan.log(`http, ${framework}${node === undefined ? '' : ' on another Node'}`);
  // By store as well, because ours occurs twice.
  const members = frameworks[framework].map(({ name, store, kind }) => ({
    name: `${name}/${store}`,
    server: name,
    store,
    kind,
  }));
  const { limit } = plan.requests;
  let version;
  // Differences in compilation matter more here than other load of the machine.
  const generations = { rounds: plan.rounds, generations: plan.httpGenerations, slices: plan.httpSlices };
  const rounds = await inGenerations(generations, async () => {
    await redis.admins[0].flushall();
    const started = [];
    for (const { name, server: contender, store } of members) {
      const server = new Worker('http-server.mjs', { core: MEASURED, node });
      const { proxy } = plan.requests;
      const settings = { framework, contender, proxy, limit, ...(store === 'redis' && { redisUrl: redis.urls[0] }) };
      const about = await server.ask('open', settings);
      version = about.node;
      await warmUp(plan, load, about.port);
      // Many short slices, so that a busy second of the machine affects all members alike.
      const slice = () => requestsOf(load, server, about.port, redis, plan);
      started.push({ name, slice, end: () => server.ask('close').then(() => server.end()) });
    }
    return started;
  });
  return members.map((member) => {
    const { server: name, store, kind } = member;
    const of = rounds.get(member.name);
    const about = { group: 'http', framework, node: version, name, store, kind, ...sliceOf(plan) };
    return rowOf(about, of, rounds.get('by hand/none'), COMPARED);
  });
}

/** Requests, not time: a slow server, or one on another Node, takes longer until it is compiled. */
async function warmUp(plan, load, port) {
  const ask = async (slice, most) => {
    for (let asked = 0; asked < most;) asked += (await load.ask('slice', { port, ...slice })).requests;
  };
  const slice = sliceOf(plan);
  if (slice.denied > 0) await ask({ ...slice, denied: slice.connections }, plan.requests.limit);
  await ask(slice, plan.httpWarmRequests);
}

/** The connections of a slice; `denied` of them come from one client, which has used up its limit. */
function sliceOf({ requests: { proxy, denied }, httpSliceMs: ms }) {
  return { connections: denied > 0 ? CONNECTIONS_OF_DENIED : CONNECTIONS, denied, proxy, ms };
}

async function requestsOf(load, server, port, redis, plan) {
  const redisBefore = await readMeter(redis.admins);
  const before = await server.ask('usage');
  const seen = await load.ask('slice', { port, ...sliceOf(plan) });
  const after = await server.ask('usage');
  const redisAfter = await readMeter(redis.admins);
  const { requests, statuses, wallMs, p50Ms, p99Ms } = seen;
  return {
    perSecond: (requests / wallMs) * 1000,
    cpuUs: (after.cpuUs - before.cpuUs) / requests,
    // 1: the server is the bottleneck; less: the load generator or Redis is.
    busyShare: (after.cpuUs - before.cpuUs) / 1000 / wallMs,
    redisUs: (redisAfter.cpuUs - redisBefore.cpuUs) / requests,
    ...{ p50Ms, p99Ms },
    okShare: (statuses['200'] ?? 0) / requests,
  };
}
