// What 100 000 overrides cost: CPU of a decision whose key has one, and of one whose key has none, by that of a policy
// without overrides; bytes of an override; and when four processes have heard of a change. Each round is a fresh process that asks in
// turn. All three are asked for equally many keys, in one random order, so that what they find in memory is equally far away, and each
// key is a text that was not asked before, as it comes from a socket. Run `npm run build` first.
//
//   node packages/old-managed/scripts/measure-overrides.mjs [--rounds 5] [memory | lone | 64 | bytes | change]...
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { Redis } from 'ioredis';
import { createLimiter, fixedWindow, memoryStore, redisStore } from '@sluice/old-core';
import { createPolicies, managed } from '@sluice/old-managed';
// Not by its name, because the package's index imports jest.
import { startRedis } from '../../testkit/dist/redis-server.js';

const OVERRIDES = 100_000;
/** The keys that are asked in each slice: others than in the slice before. */
const KEYS = 1000;
const SCENES = {
  memory: { slices: 600, inFlight: 1 },
  lone: { slices: 60, inFlight: 1 },
  64: { slices: 200, inFlight: 64 },
};
const OVERRIDDEN = ['orders', 'visits'];
const apps = ['measured'];
const of = (limit) => fixedWindow({ limit, window: '1h' });
const withOne = (i) => `customer-${String(i).padStart(6, '0')}`;
const without = (i) => `visitor--${String(i).padStart(6, '0')}`;

const [scene, url] = process.argv.slice(2);
if (process.send === undefined) await main();
else
  process.send(await (scene === 'bytes' ? bytesEach() : scene === 'follow' ? follow(url) : ratios(SCENES[scene], url)));

async function main() {
  const { values, positionals } = parseArgs({
    options: { rounds: { type: 'string', default: '5' } },
    allowPositionals: true,
  });
  const wanted = positionals.length > 0 ? positionals : ['memory', 'lone', '64', 'bytes', 'change'];
  const redis = await startRedis(['--maxmemory', '0']);
  for (const name of wanted.filter((one) => one in SCENES)) {
    const rounds = [];
    for (let round = 0; round < Number(values.rounds); round++) rounds.push(await inChild(name, redis.url));
    for (const what of Object.keys(rounds[0])) {
      const sorted = rounds.map((round) => round[what]).sort((a, b) => a - b);
      const [least, middle, most] = [0, sorted.length >> 1, sorted.length - 1].map((i) => sorted[i].toFixed(3));
      console.log(`${name}, ${what}: ${middle} (${least} to ${most})`);
    }
  }
  if (wanted.includes('bytes')) console.log(`bytes of an override beside its key's text: ${await inChild('bytes')}`);
  if (wanted.includes('change')) await heard(redis.url);
  await redis.stop();
}

async function inChild(name, at = '') {
  const child = fork(fileURLToPath(import.meta.url), [name, at], { execArgv: ['--expose-gc'] });
  const [result] = await once(child, 'message');
  child.kill();
  return result;
}

/** Policies of a source in this process: `plain`, and `orders` and `visits`, of which every customer has an override. */
async function policiesHere(many = OVERRIDES) {
  const records = {};
  const source = {
    load: () => Promise.resolve(records),
    put: (name, record) => Promise.resolve(((records[name] = record), true)),
    overrides: {
      changes: (cursor) => {
        const isFromStart = cursor === undefined;
        return Promise.resolve({
          records: isFromStart ? recordsOf(many) : [],
          cursor: '1',
          hasMore: false,
          isFromStart,
        });
      },
      read: () => Promise.resolve(undefined),
    },
  };
  const policies = createPolicies(source);
  for (const name of ['plain', ...OVERRIDDEN]) await policies.put(name, of(1_000_000_000), { apps });
  return policies;
}

function* recordsOf(many) {
  const record = { format: 1, version: Date.now() + 1000, policy: of(2_000_000_000), changedAtMs: 0, earlier: [] };
  for (const name of OVERRIDDEN) for (let i = 0; i < many; i++) yield [`${name}:key:${withOne(i)}`, record];
}

/** The CPU of a decision by that of a policy without overrides: of this process and, where it counts there, of Redis. */
async function ratios({ slices, inFlight }, at) {
  const isMemory = at === '' || scene === 'memory';
  const client = isMemory ? undefined : new Redis(at);
  const store = isMemory ? memoryStore({ maxKeys: 1_000_000 }) : redisStore(client, { prefix: 'sluice' });
  const policies = await policiesHere();
  const limiterOf = (name) =>
    createLimiter({ name, policy: managed(name), app: 'measured', policies, store, timeoutMs: 60_000 });
  // Each has states of its own, so that all look among equally many.
  const [plain, orders, visits] = ['plain', ...OVERRIDDEN].map(limiterOf);
  const contenders = { plain: [plain, withOne], 'with one': [orders, withOne], 'without one': [visits, without] };
  const warmUps = slices >> 2;
  // Every key is asked once while it warms up, at most all of them.
  const order = shuffled(OVERRIDES).slice(0, warmUps * KEYS);
  await plain.peek(without(0));
  if ((await orders.peek(withOne(7))).limit !== 2_000_000_000) throw new Error('the overrides are not in force');
  const spent = Object.fromEntries(Object.keys(contenders).map((name) => [name, { client: 0, redis: 0 }]));
  for (let slice = -warmUps; slice < slices; slice++) {
    const names = Object.keys(contenders);
    for (let i = 0; i < names.length; i++) {
      const name = names[(i + slice + slices) % names.length];
      const [limiter, keyOf] = contenders[name];
      const from = ((slice + warmUps) * KEYS) % order.length;
      const keys = order.slice(from, from + KEYS).map((key) => Buffer.from(keyOf(key)).toString('latin1'));
      const redisBefore = await redisCpu(client);
      const before = process.cpuUsage();
      let next = 0;
      const ask = async () => {
        while (next < KEYS) await limiter.consume(keys[next++]);
      };
      await Promise.all(Array.from({ length: inFlight }, ask));
      const { user, system } = process.cpuUsage(before);
      if (slice < 0) continue; // warms up
      spent[name].client += user + system;
      spent[name].redis += (await redisCpu(client)) - redisBefore;
    }
  }
  const result = {};
  for (const name of ['without one', 'with one']) {
    result[`${name}, CPU of the process`] = spent[name].client / spent.plain.client;
    if (!isMemory) result[`${name}, CPU of Redis`] = spent[name].redis / spent.plain.redis;
  }
  await Promise.all([plain, orders, visits].map((one) => one.close()));
  client?.disconnect();
  return result;
}

/** The numbers below `many`, in an order that is the same in every process. */
function shuffled(many) {
  const order = Array.from({ length: many }, (_, i) => i);
  let seed = 32;
  for (let i = many - 1; i > 0; i--) {
    seed = (Math.imul(seed, 1_664_525) + 1_013_904_223) >>> 0;
    const other = Math.floor((seed / 2 ** 32) * (i + 1));
    [order[i], order[other]] = [order[other], order[i]];
  }
  return order;
}

async function redisCpu(client) {
  if (client === undefined) return 0;
  const info = await client.info('cpu');
  const field = (name) => Number(new RegExp(`^${name}:([\\d.]+)`, 'm').exec(info)?.[1] ?? 0);
  return (field('used_cpu_user') + field('used_cpu_sys')) * 1e6;
}

/** Bytes of the heap for each override, less the characters of its key. */
async function bytesEach() {
  const heapWith = async (many) => {
    const policies = await policiesHere(many);
    const limiter = createLimiter({ policy: managed('plain'), app: 'measured', policies });
    await limiter.peek('visitor');
    globalThis.gc();
    globalThis.gc();
    const { heapUsed, arrayBuffers } = process.memoryUsage();
    await limiter.close();
    return heapUsed + arrayBuffers;
  };
  const none = await heapWith(0);
  const all = OVERRIDDEN.length * OVERRIDES;
  return Math.round(((await heapWith(OVERRIDES)) - none) / all - withOne(0).length);
}

/** How long after a change each of four processes decides by it. */
async function heard(at) {
  const policies = createPolicies(at, { prefix: 'sluice' });
  await policies.put('orders', of(10), { apps });
  const children = Array.from({ length: 4 }, () => fork(fileURLToPath(import.meta.url), ['follow', at]));
  await Promise.all(children.map((child) => once(child, 'message')));
  const waits = [];
  for (let limit = 20; limit < 40; limit++) {
    const news = children.map(async (child) => {
      for (;;) {
        const [seen] = await once(child, 'message');
        if (seen.limit === limit) return seen.atMs;
      }
    });
    const changedAtMs = Date.now();
    await policies.override('orders', 'ann', of(limit));
    waits.push(...(await Promise.all(news)).map((atMs) => atMs - changedAtMs));
  }
  waits.sort((a, b) => a - b);
  console.log(
    `four processes decide by a change after ${waits[waits.length >> 1]} ms, at most ${waits.at(-1)} ms, of 20 changes`,
  );
  for (const child of children) child.kill();
  await policies.close();
}

/** Tells each new limit of a key, and when it was seen first. */
async function follow(at) {
  const limiter = createLimiter({
    policy: managed('orders'),
    app: 'measured',
    store: redisStore(at, { prefix: 'sluice' }),
    timeoutMs: 60_000,
  });
  let known = (await limiter.peek('ann')).limit;
  const look = async () => {
    const { limit } = await limiter.peek('ann');
    if (limit !== known) process.send({ limit: (known = limit), atMs: Date.now() });
    setTimeout(look, 2);
  };
  setTimeout(look, 0);
  return { limit: known };
}
