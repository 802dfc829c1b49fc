import { redisContenders } from '../contenders/redis.mjs';
import { inGenerations, rowOf } from '../measure/interleave.mjs';
import { redisQuestions } from '../measure/shapes.mjs';
import { MEASURED } from '../processes/cores.mjs';
import { bytesOfKeys, readCommands, readMeter, startServer } from '../processes/redis.mjs';
import { Worker } from '../processes/worker.mjs';

const FLOOR = 'raw INCR';
/** Keys whose bytes are measured. */
const BYTES_OF = 200;
const contenders = Object.entries(redisContenders).map(([name, { kind }]) => ({ name, kind }));
const COMPARED = ['perSecond'];

/** The scenes of `--scene`. */
export const redisScenes = redisQuestions.map(({ scene }) => scene);

/** Decisions in Redis: how many a second, CPU time on both sides, bytes on the wire and in the server. */
export async function measureRedis(plan) {
  const rows = [];
  for (const { says, shape, policies, inFlight } of redisQuestions.filter(({ scene }) => plan.wants(scene))) {
    const question = { shape, inFlight, policies };
    plan.log(`redis, ${says}`);
    const server = await startServer();
    try {
      const members = contenders.filter(({ name }) => redisContenders[name].plays(question));
      const rounds = await timed(plan, server, question, members);
      for (const { name, kind } of members) {
        const about = { group: 'redis', ...question, name, kind };
        rows.push(rowOf(about, rounds.get(name), rounds.get(FLOOR), COMPARED));
      }
    } finally {
      await server.stop();
    }
  }
  await addBytes(rows);
  return rows;
}

async function timed(plan, server, scene, members) {
  const sliceMs = scene.shape === 'denied' ? plan.deniedSliceMs : plan.sliceMs;
  return inGenerations(plan, async () => {
    const started = [];
    for (const { name } of members) {
      const worker = new Worker('in-redis.mjs', { core: MEASURED });
      await worker.ask('open', { name, urls: server.urls, mostKeys: plan.mostKeys, ...scene });
      const warm = () => worker.ask('warm', { ms: plan.warmMs, inFlight: scene.inFlight });
      const slice = () => sliceOf([worker], server.admins, scene.inFlight, sliceMs);
      started.push({ name, warm, slice, end: () => worker.ask('close').then(() => worker.end()) });
    }
    // Once, before any is warm: one that is warm would start again with keys that are not denied.
    await server.admins[0].flushall();
    for (const { warm } of started) await warm();
    return started;
  });
}

/** One slice of several workers at once, and the work of the servers meanwhile. */
export async function sliceOf(workers, admins, inFlight, ms) {
  for (const admin of admins) await admin.config('RESETSTAT');
  const before = await readMeter(admins);
  const seen = await Promise.all(workers.map((worker) => worker.ask('slice', { ms, inFlight })));
  const after = await readMeter(admins);
  const commands = await readCommands(admins);
  const sum = (field) => seen.reduce((total, of) => total + of[field], 0);
  const ops = sum('ops');
  return {
    perSecond: seen.reduce((total, of) => total + (of.ops / of.wallMs) * 1000, 0),
    cpuUs: sum('cpuUs') / ops,
    redisUs: (after.cpuUs - before.cpuUs) / ops,
    commandUs: scriptUs(commands) / ops,
    inBytes: (after.inBytes - before.inBytes) / ops,
    outBytes: (after.outBytes - before.outBytes) / ops,
    p50Ms: sum('p50Ms') / seen.length,
    p99Ms: Math.max(...seen.map(({ p99Ms }) => p99Ms)),
    deniedShare: sum('denied') / ops,
  };
}

/** Top-level commands alone: the calls of a script are in the script's time already. */
function scriptUs(commands) {
  const scripts = ['evalsha', 'eval'].filter((name) => commands[name] !== undefined);
  const looking = ['info', 'config|resetstat'];
  const counted = scripts.length > 0 ? scripts : Object.keys(commands).filter((name) => !looking.includes(name));
  return counted.reduce((total, name) => total + commands[name].us, 0);
}

/** MEMORY USAGE of the key or keys of a client after one request. */
async function addBytes(rows) {
  const server = await startServer();
  const read = new Map();
  try {
    for (const row of rows.filter(({ shape }) => shape === 'many')) {
      const { name, policies } = row;
      const id = `${name}/${policies}`;
      if (!read.has(id)) {
        await server.admins[0].flushall();
        const worker = new Worker('in-redis.mjs', { core: MEASURED });
        await worker.ask('open', { name, urls: server.urls, shape: 'many', keys: BYTES_OF, policies });
        await worker.ask('warm', { ms: 0, inFlight: 1 });
        const bytes = (await bytesOfKeys(server.admins)) / BYTES_OF;
        await worker.ask('close');
        await worker.end();
        read.set(id, { median: bytes, low: bytes, high: bytes });
      }
      row.figures.bytesPerKey = read.get(id);
    }
  } finally {
    await server.stop();
  }
}
