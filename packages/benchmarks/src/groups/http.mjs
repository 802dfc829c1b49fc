import { interleave, rowOf } from '../measure/interleave.mjs';
import { MEASURED, OTHER } from '../processes/cores.mjs';
import { readMeter, startServer } from '../processes/redis.mjs';
import { Worker } from '../processes/worker.mjs';

const CONNECTIONS = 64;
const COMPARED = ['perSecond', 'cpuUs'];

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
  fastify: [...FLOORS, ...OURS, ...peer('@fastify/rate-limit')],
  koa: [...FLOORS, ...OURS, ...peer('koa-ratelimit')],
  nestjs: [...FLOORS, ...OURS, ...peer('@nestjs/throttler')],
};

/** Requests over HTTP: how many a second, CPU time of the server, and what is left of the same server without a limit. */
export async function measureHttp(plan) {
  const rows = [];
  const scenes = [
    ...Object.keys(frameworks).map((framework) => ({ framework, node: undefined })),
    ...(plan.otherNode === undefined ? [] : [{ framework: 'express', node: plan.otherNode }]),
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
  plan.note(`http, ${framework}${node === undefined ? '' : ' on another Node'}`);
  const rounds = new Map();
  let version;
  // How a server happens to be compiled makes more of a difference here than what the machine does meanwhile.
  for (let generation = 0; generation < plan.httpGenerations; generation++) {
    await redis.admins[0].flushall();
    const members = [];
    for (const { name, store } of frameworks[framework]) {
      const server = new Worker('http-server.mjs', { core: MEASURED, node });
      const about = await server.ask('open', {
        ...{ framework, contender: name },
        ...(store === 'redis' ? { redisUrl: redis.urls[0] } : {}),
      });
      version = about.node;
      const slice = (ms) => requestsOf(load, server, about.port, redis, ms);
      await warmUp(plan, load, about.port);
      members.push({ name: `${name}/${store}`, server, slice: () => slice(plan.httpSliceMs) });
    }
    // Many short slices: a machine that is busy for a second is so for everybody.
    const seen = await interleave(members, plan.httpSlices * Math.ceil(plan.rounds / plan.httpGenerations));
    for (const [name, some] of seen) rounds.set(name, [...(rounds.get(name) ?? []), ...some]);
    for (const { server } of members) {
      await server.ask('close');
      await server.end();
    }
  }
  return frameworks[framework].map(({ name, store, kind }) => {
    const of = rounds.get(`${name}/${store}`);
    const about = { group: 'http', framework, node: version, name, store, kind, connections: CONNECTIONS };
    const row = rowOf(about, of, rounds.get('by hand/none'), COMPARED);
    return { ...row, ofBare: rowOf({}, of, rounds.get('bare/none'), COMPARED).ofFloor };
  });
}

/** Requests, not time: a server that is slow, or on another Node, takes longer until all of it is compiled. */
async function warmUp(plan, load, port) {
  for (let asked = 0; asked < plan.httpWarmRequests;) {
    const { requests } = await load.ask('slice', { port, connections: CONNECTIONS, ms: plan.httpSliceMs });
    asked += requests;
  }
}

async function requestsOf(load, server, port, redis, ms) {
  const redisBefore = await readMeter(redis.admins);
  const before = await server.ask('usage');
  const seen = await load.ask('slice', { port, connections: CONNECTIONS, ms });
  const after = await server.ask('usage');
  const redisAfter = await readMeter(redis.admins);
  const { requests, statuses, wallMs, p50Ms, p99Ms } = seen;
  return {
    perSecond: (requests / wallMs) * 1000,
    cpuUs: (after.cpuUs - before.cpuUs) / requests,
    // 1 and the server is what everything waits for; less and the load, or Redis, is.
    busyShare: (after.cpuUs - before.cpuUs) / 1000 / wallMs,
    redisUs: (redisAfter.cpuUs - redisBefore.cpuUs) / requests,
    ...{ p50Ms, p99Ms },
    okShare: (statuses['200'] ?? 0) / requests,
  };
}
