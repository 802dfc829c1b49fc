import { redisContenders } from '../contenders/redis.mjs';
import { interleave, rowOf } from '../measure/interleave.mjs';
import { shapes } from '../measure/shapes.mjs';
import { MEASURED } from '../processes/cores.mjs';
import { bytesOfKeys, readCommands, readMeter, startServer } from '../processes/redis.mjs';
import { Worker } from '../processes/worker.mjs';

const FLOOR = 'raw INCR';
/** Keys whose bytes are looked at. */
const BYTES_OF = 200;
const COMPARED = ['perSecond', 'cpuUs', 'redisUs'];

/** Which shapes are asked for with how many in flight, and over how many policies. */
const SCENES = [
  ...Object.keys(shapes).flatMap((shape) => [1, 64, 256].map((inFlight) => ({ shape, inFlight, policies: 1 }))),
  ...[1, 64, 256].map((inFlight) => ({ shape: 'many', inFlight, policies: 3 })),
];

/** Decisions in Redis: how many a second, CPU time on both sides, bytes on the wire and in the server. */
export async function measureRedis(plan) {
  const rows = [];
  for (const scene of SCENES.filter(({ inFlight }) => plan.inFlight.includes(inFlight))) {
    const { shape, inFlight, policies } = scene;
    plan.note(`redis, ${shapes[shape].says}, ${inFlight} in flight, policies: ${policies}`);
    const server = await startServer();
    try {
      const names = Object.keys(redisContenders).filter((name) => redisContenders[name].plays(scene));
      const { rounds, unavailable } = await timed(plan, server, scene, names);
      for (const [name, seen] of rounds) {
        const about = { group: 'redis', ...scene, name, kind: redisContenders[name].kind };
        const ofEvalsha = rowOf({}, seen, rounds.get('raw EVALSHA'), ['perSecond']).ofFloor;
        rows.push({ ...rowOf(about, seen, rounds.get(FLOOR), COMPARED), ofEvalsha });
      }
      for (const [name, why] of unavailable) {
        console.error(`NOT AVAILABLE: ${name}: ${why}`);
        rows.push({ group: 'redis', ...scene, name, kind: redisContenders[name].kind, unavailable: why });
      }
    } finally {
      await server.stop();
    }
  }
  await addBytes(plan, rows);
  return rows;
}

async function timed(plan, server, scene, names) {
  const rounds = new Map();
  const unavailable = new Map();
  // Twice, each with half of the rounds and fresh processes: how a process happens to be compiled is part of the spread.
  for (let generation = 0; generation < plan.generations; generation++) {
    const members = [];
    for (const name of names) {
      const worker = new Worker('in-redis.mjs', { core: MEASURED });
      const about = await worker.ask('open', { name, urls: server.urls, mostKeys: plan.mostKeys, ...scene });
      if (about.unavailable === undefined) {
        await server.admins[0].flushall();
        await worker.ask('warm', { ms: plan.warmMs, inFlight: scene.inFlight });
        members.push({ name, worker, slice: () => sliceOf([worker], server.admins, scene.inFlight, plan.sliceMs) });
      } else {
        unavailable.set(name, about.unavailable);
        await worker.end();
      }
    }
    const seen = await interleave(members, Math.ceil(plan.rounds / plan.generations));
    for (const [name, some] of seen) rounds.set(name, [...(rounds.get(name) ?? []), ...some]);
    for (const { worker } of members) {
      await worker.ask('close');
      await worker.end();
    }
  }
  return { rounds, unavailable };
}

/** One slice of so many workers at once, and what the servers did meanwhile. */
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
    refusedShare: sum('refused') / ops,
  };
}

/** Inside commands alone: what a script calls is in the script's time already. */
function scriptUs(commands) {
  const scripts = ['evalsha', 'eval'].filter((name) => commands[name] !== undefined);
  const looking = ['info', 'config|resetstat'];
  const counted = scripts.length > 0 ? scripts : Object.keys(commands).filter((name) => !looking.includes(name));
  return counted.reduce((total, name) => total + commands[name].us, 0);
}

/** What MEMORY USAGE says of a client that has asked once: its key, or keys. */
async function addBytes(plan, rows) {
  const server = await startServer();
  const read = new Map();
  try {
    for (const row of rows.filter(({ shape, unavailable }) => shape === 'many' && unavailable === undefined)) {
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
