// What does a decision in memory cost?
import FastifyStore from '@fastify/rate-limit/store/LocalStore.js';
import { ThrottlerStorageService } from '@nestjs/throttler';
import { createLimiter, fixedWindow, memoryStore, slidingWindow, tokenBucket } from '@sluice/core';
import { MemoryStore } from 'express-rate-limit';
import KoaMemory from 'koa-ratelimit/limiter/memory.js';
import { RateLimiterMemory } from 'rate-limiter-flexible';
import { cpuUs, inTurn, startChild, toRow } from './in-turn.mjs';
import { drawKeys, keysOf, SHAPES } from './keys.mjs';

const WINDOW_MS = 3_600_000;
const MAX_KEYS = 2_000_000;
/** Decisions between two looks at the CPU time. */
const IN_A_ROW = 1000;

const sluice = (policyOf) => (limit) => {
  const limiter = createLimiter({ policy: policyOf(limit), store: memoryStore({ maxKeys: MAX_KEYS }) });
  return { consume: (key) => limiter.consume(key), denies: ({ allowed }) => !allowed };
};

/** By name: makes, for a limit, what consumes a unit of a key and what reads a denial. */
export const contenders = {
  'Map by hand': (limit) => {
    const counts = new Map();
    const consume = (key) => {
      const now = Date.now();
      let entry = counts.get(key);
      if (entry === undefined || entry.endMs <= now) counts.set(key, (entry = { used: 0, endMs: now + WINDOW_MS }));
      return ++entry.used <= limit;
    };
    return { consume, denies: (allowed) => !allowed };
  },
  sluice: sluice((limit) => fixedWindow({ limit, window: WINDOW_MS })),
  'sluice, slidingWindow': sluice((limit) => slidingWindow({ limit, window: WINDOW_MS })),
  'sluice, tokenBucket': sluice((limit) => tokenBucket({ capacity: limit, refill: limit, every: WINDOW_MS })),
  'express-rate-limit': (limit) => {
    const store = new MemoryStore();
    store.init({ windowMs: WINDOW_MS });
    return { consume: (key) => store.increment(key), denies: ({ totalHits }) => totalHits > limit };
  },
  '@fastify/rate-limit': (limit) => {
    const store = new FastifyStore(false, false, MAX_KEYS);
    let answer;
    const keep = (_, entry) => (answer = entry);
    const consume = (key) => {
      store.incr(key, keep, WINDOW_MS, limit);
      return answer;
    };
    return { consume, denies: ({ current }) => current > limit };
  },
  'rate-limiter-flexible': (limit) => {
    const limiter = new RateLimiterMemory({ points: limit, duration: WINDOW_MS / 1000 });
    return { consume: (key) => limiter.consume(key).catch(() => null), denies: (answer) => answer === null };
  },
  'koa-ratelimit': (limit) => {
    const db = new Map();
    // As its middleware does: an object for each request.
    const consume = (id) => new KoaMemory({ id, db, max: limit, duration: WINDOW_MS }).get();
    return { consume, denies: ({ remaining }) => remaining === 0 };
  },
  '@nestjs/throttler': (limit) => {
    const storage = new ThrottlerStorageService();
    const consume = (key) => storage.increment(key, WINDOW_MS, limit, WINDOW_MS, 'default');
    return { consume, denies: ({ isBlocked }) => isBlocked };
  },
};

export async function measureMemory({ generations, rounds, sliceMs, heapKeys, wants, log }) {
  const names = Object.keys(contenders);
  const rows = [];
  for (const [scene, { says }] of Object.entries(SHAPES).filter(([name]) => wants(name))) {
    log(`memory, ${says}`);
    const seen = await inTurn(names, { generations, rounds }, async (name) => {
      const child = await startChild('memory.mjs', { name, scene });
      return {
        slice: () => child.ask('slice', { ms: sliceMs }),
        warm: () => child.ask('warm', { ms: sliceMs }),
        ...child,
      };
    });
    for (const name of names) rows.push(toRow({ scene, name }, seen.get(name), seen.get('Map by hand')));
  }
  log(`memory, bytes of ${heapKeys} keys`);
  const flags = ['--expose-gc', '--max-old-space-size=6000'];
  const bytes = await inTurn(names, { generations, rounds: 1 }, async (name) => {
    const child = await startChild('memory.mjs', { name, scene: 'many' }, { flags });
    return { slice: () => child.ask('bytes', { keys: heapKeys }), ...child };
  });
  return [...rows, ...names.map((name) => toRow({ scene: 'bytes', name }, bytes.get(name)))];
}

/** The measured process. */
export function open({ name, scene, limit = SHAPES[scene].limit }) {
  const { consume, denies } = contenders[name](limit);
  const nextKey = drawKeys(SHAPES[scene]);
  const slice = async ({ ms }) => {
    const startUs = cpuUs();
    let [ops, denied, spentUs] = [0, 0, 0];
    // By CPU time, so that other load of the core does not make the slice shorter.
    while (spentUs < ms * 1000) {
      for (let i = 0; i < IN_A_ROW; i++) {
        let answer = consume(nextKey());
        if (typeof answer.then === 'function') answer = await answer;
        if (denies(answer)) denied++;
      }
      ops += IN_A_ROW;
      spentUs = cpuUs() - startUs;
    }
    return { perSecond: (ops / spentUs) * 1e6, cpuUs: spentUs / ops, deniedShare: denied / ops };
  };
  return {
    slice,
    warm: async ({ ms }) => {
      for (const key of keysOf(SHAPES[scene])) await consume(key);
      await slice({ ms });
    },
    /** For each of these decisions of one key whether it was a denial. */
    denials: async ({ times }) => {
      const seen = [];
      for (let i = 0; i < times; i++) seen.push(denies(await consume('key')));
      return seen;
    },
    /** What a key takes on the heap and, as typed arrays do, beside it. */
    bytes: async ({ keys: count }) => {
      const keys = keysOf({ keys: count });
      await consume('warm');
      const before = heldBytes();
      for (let i = 0; i < count; i++) {
        await consume(keys[i]);
        keys[i] = undefined; // as a request's key, which ends with the request
      }
      const bytesPerKey = (heldBytes() - before) / count;
      await consume(keys[0] ?? 'warm'); // so that neither is collected before the last look
      return { bytesPerKey };
    },
  };
}

function heldBytes() {
  for (let i = 0; i < 4; i++) globalThis.gc();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}
