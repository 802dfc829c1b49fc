import { inGenerations, rowOf } from '../measure/interleave.mjs';
import { MEASURED, OTHER } from '../processes/cores.mjs';
import { startServer } from '../processes/redis.mjs';
import { Worker } from '../processes/worker.mjs';

/** As the guide to the service runs it. */
const FLAGS = ['--max-semi-space-size=4'];
const KEYS = 10_000;
/** Few enough that the cache answers: it asks the store about each denied key once a second. */
const DENIED_KEYS = 100;
const CONNECTIONS = 32;

const grpcJs = { name: 'grpc-js', kind: 'floor', server: 'grpc-js', perSecond: 10_000, descriptors: 1 };
/** Our codec, and a request that no rule limits: what a call costs before anything is decided. */
const codec = {
  name: 'codec',
  kind: 'floor',
  server: 'sluice',
  domain: 'unlimited',
  perSecond: 10_000,
  descriptors: 1,
};
const ours = { kind: 'ours', server: 'sluice' };

/** Calls of the rate limit service at a rate. */
const rls = {
  rls: [grpcJs, codec, { ...ours, name: 'sluice', domain: 'many', perSecond: 20_000, descriptors: 1 }],
  // A rate for machines on which grpc-js falls behind at 10 000 a second.
  'rls-4000': [
    { ...grpcJs, perSecond: 4_000 },
    { ...codec, perSecond: 4_000 },
    { ...ours, name: 'sluice', domain: 'many', perSecond: 4_000, descriptors: 1 },
  ],
  'rls-16': [grpcJs, { ...ours, name: 'sluice', domain: 'many', perSecond: 2_000, descriptors: 16 }],
  'rls-denied': [
    { ...codec, keys: DENIED_KEYS },
    { ...ours, name: 'sluice', domain: 'denied', perSecond: 10_000, descriptors: 1, keys: DENIED_KEYS },
  ],
};
const forwardAuth = [
  { name: 'by hand', kind: 'floor', server: 'by-hand' },
  { name: 'sluice', ...ours },
];

/** The scenes of `--scene`. */
export const serviceScenes = [...Object.keys(rls), 'forward-auth'];

/**
 * The service: latency and CPU time of calls over gRPC at a rate, of forward auth in a closed loop, and resident
 * memory.
 */
export async function measureService(plan) {
  const redis = await startServer();
  const [grpc, http] = [new Worker('grpc-load.mjs', { core: OTHER }), new Worker('http-load.mjs', { core: OTHER })];
  await Promise.all([grpc.ask('open'), http.ask('open')]);
  const rows = [];
  try {
    for (const [scene, contenders] of Object.entries(rls)) {
      if (plan.wants(scene)) rows.push(...(await measureScene(plan, scene, contenders, redis, callsOf(plan, grpc))));
    }
    if (plan.wants('forward-auth')) {
      rows.push(...(await measureScene(plan, 'forward-auth', forwardAuth, undefined, requestsOf(plan, http))));
    }
  } finally {
    await grpc.end();
    await http.end();
    await redis.stop();
  }
  return rows;
}

async function measureScene(plan, scene, contenders, redis, figuresOf) {
  plan.log(`service, ${scene}`);
  const generations = { rounds: plan.rounds, generations: plan.httpGenerations, slices: plan.serviceSlices };
  const rounds = await inGenerations(generations, async () => {
    await redis?.admins[0].flushall();
    const started = [];
    for (const member of contenders) {
      const server = new Worker('service-server.mjs', { core: MEASURED, flags: FLAGS });
      const { port } = await server.ask('open', { server: member.server, redisUrl: redis?.urls[0] });
      const slice = () => figuresOf(member, server, port);
      for (let i = 0; i < plan.serviceWarmSlices; i++) await slice();
      started.push({ name: member.name, slice, end: () => server.ask('close').then(() => server.end()) });
    }
    return started;
  });
  return contenders.map(({ name, kind, perSecond, descriptors }) =>
    rowOf({ group: 'service', scene, name, kind, rate: perSecond, descriptors }, rounds.get(name)),
  );
}

function callsOf(plan, load) {
  return async ({ domain = 'many', perSecond, descriptors, keys = KEYS }, server, port) => {
    const before = await server.ask('usage');
    const asked = {
      port,
      domain,
      perSecond,
      descriptors,
      ms: plan.serviceSliceMs,
      keys: Math.min(keys, plan.mostKeys ?? keys),
    };
    const { requests, denied, failed, wallMs, p50Ms, p99Ms, p999Ms } = await load.ask('slice', asked);
    const after = await server.ask('usage');
    return {
      perSecond: (requests / wallMs) * 1000,
      cpuUs: (after.cpuUs - before.cpuUs) / requests,
      ...{ p50Ms, p99Ms, p999Ms, rssMiB: after.rssMiB },
      ...{ deniedShare: denied / requests, failedShare: failed / requests },
    };
  };
}

function requestsOf(plan, load) {
  return async (_member, server, port) => {
    const before = await server.ask('usage');
    const asked = { port, connections: CONNECTIONS, ms: plan.serviceSliceMs, path: '/auth/orders' };
    const { requests, statuses, wallMs, p50Ms, p99Ms } = await load.ask('slice', asked);
    const after = await server.ask('usage');
    return {
      perSecond: (requests / wallMs) * 1000,
      cpuUs: (after.cpuUs - before.cpuUs) / requests,
      ...{ p50Ms, p99Ms, rssMiB: after.rssMiB, failedShare: 1 - (statuses['200'] ?? 0) / requests },
    };
  };
}
