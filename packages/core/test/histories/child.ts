// One process of a history: decides at random until its input ends, and writes each call down before it is made and when
// its end is known, so that kill -9 loses none. argv: JSON of ChildOptions.
import { createHash } from 'node:crypto';
import { openSync, writeSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { Cluster, Redis } from 'ioredis';
import { createClient, createCluster } from 'redis';
import { createLimiter, redisStore, type Decision, type RedisStore, type StoreError } from '../../src/index.ts';
import { SCRIPTS } from '../../src/stores/redis/lua/generated/scripts.generated.ts';
import { KINDS, SEVERAL, SLOTS } from './kinds.ts';
import { AHEAD, type Call, type ChildOptions, type Line } from './log.ts';

const { url, client, side, number, log, pauseMs } = JSON.parse(process.argv[2] as string) as ChildOptions;
const file = openSync(log, 'a');
const write = (line: Line): unknown => writeSync(file, `${JSON.stringify(line)}\n`);
const fail = (error: unknown): never => {
  write({ broken: error instanceof Error ? String(error.stack) : String(error) });
  process.exit(1);
};
process.on('uncaughtException', fail).on('unhandledRejection', fail);

// The clock of the machine is the server's; that of every second pair of processes is wrong by an hour.
const nowMs = Date.now;
if (number >= 2) Date.now = () => nowMs() + 3_600_000;

/** Time by the turns of this process: the time it was stopped, or waited for the machine, is no wait for a decision. */
let ticks = 0;
setInterval(() => ticks++, 10).unref();
const MAX_TICKS = 18;

if (!client.endsWith('cluster')) {
  for (const script of Object.values(SCRIPTS) as { sha1: string; source: string }[]) {
    const ahead = `(redis.call("GET", "${AHEAD}") or 0)`;
    script.source = script.source.replace('now = time[1] * 1000', `now = ${ahead} + time[1] * 1000`);
    script.sha1 = createHash('sha1').update(script.source).digest('hex');
  }
}

let disconnect = (): unknown => undefined;

async function openStore(): Promise<RedisStore> {
  if (client === 'url') return redisStore(url, { prefix: 'sluice' });
  if (client === 'node-redis') {
    const redis = createClient({ url, disableOfflineQueue: true }).on('error', () => undefined);
    disconnect = redis.destroy.bind(redis);
    await redis.connect();
    return redisStore(redis, { prefix: 'sluice' });
  }
  const { hostname, port, username, password } = new URL(url);
  if (client === 'node-redis cluster') {
    const socket = { host: hostname, port: Number(port) };
    const redis = createCluster({
      rootNodes: [{ socket }],
      defaults: { username, password, disableOfflineQueue: true },
    });
    redis.on('error', () => undefined);
    disconnect = redis.destroy.bind(redis);
    await redis.connect();
    return redisStore(redis, { prefix: 'sluice' });
  }
  const redis =
    client === 'ioredis'
      ? new Redis(url, { retryStrategy: () => 50 })
      : new Cluster([{ host: hostname, port: Number(port) }], { redisOptions: { username, password } });
  redis.on('error', () => undefined);
  disconnect = redis.disconnect.bind(redis);
  return redisStore(redis, { prefix: 'sluice' });
}

const store = await openStore();
await store.ready(20_000);
console.log('ready');
const common = { store, onStoreError: number === 1 ? 'throw' : 'local', denialCache: number > 0 } as const;
const limiters = Object.entries(KINDS).map(([name, { policies }]) =>
  createLimiter({ ...common, name, policy: policies[side] }),
);
const limits = SEVERAL.map((name) => ({ name, policy: KINDS[name].policies[side] }));
const several = createLimiter({ ...common, name: 'several', limits });
const slots = createLimiter({ ...common, name: 'slots', policy: SLOTS[side] });

const below = (max: number): number => Math.floor(Math.random() * max);
const pick = (): string => ['ann', 'bob', 'cid'][below(3)] as string;
let calls = 0;
const pending = new Set<Promise<unknown>>();
/** Decisions that may be refunded. */
const takes: (() => Promise<unknown>)[] = [];

/** Writes a call down, and how it ends. Returns its number, and the decision. */
async function note(op: Call['op'], limiter: string, key: string, cost: number, ask: () => Promise<unknown>) {
  const n = calls++;
  const begun = ticks;
  write([n, op, limiter, key, cost, nowMs()]);
  let decision: Decision | undefined;
  let error: StoreError | undefined;
  try {
    decision = (await ask()) as Decision | undefined;
    error = decision?.error as StoreError | undefined;
  } catch (failure) {
    error = failure as StoreError;
    if (!/^SLUICE_(STORE|BREAKER)_/.test(error.code)) fail(failure);
  }
  const { allowed = false, source = 'none', atMs = 0, policies = [] } = decision ?? {};
  const denied = policies.filter((one) => !one.allowed).map(({ name }) => name);
  const told = decision === undefined ? null : { allowed, source, atMs, denied };
  write([n, nowMs(), ticks - begun > MAX_TICKS, error?.sent !== false, told]);
  return { n, decision };
}

async function decide(place: number, key: string, cost: number, op: 'consume' | 'peek'): Promise<void> {
  const limiter = limiters[place];
  if (limiter === undefined) {
    const keys = { window: key, sliding: `${key}-b`, bucket: `${key}-c` };
    await note(op, 'several', key, cost, () => several[op](keys, cost));
    return;
  }
  const { n, decision } = await note(op, limiter.name, key, cost, () => limiter[op](key, cost));
  // In a bucket, what comes back depends on when the refund arrives.
  const isRefunded = 'afterMs' in KINDS[limiter.name as 'window'].back;
  if (decision?.allowed !== true || op === 'peek' || !isRefunded) return;
  takes.push(() => note('refund', limiter.name, String(n), cost, () => limiter.refund(decision)));
  if (takes.length > 20) takes.shift();
}

async function hold(key: string): Promise<void> {
  let release = (): Promise<void> => Promise.resolve();
  const { n, decision } = await note('acquire', 'slots', key, 1, async () => {
    const acquired = await slots.acquire(key);
    release = () => acquired.release();
    return acquired.decision;
  });
  if (decision?.allowed !== true) return;
  await sleep(below(80));
  await note('release', 'slots', String(n), 1, release);
}

let isGoing = true;
process.stdin.resume().on('end', () => (isGoing = false));
while (isGoing) {
  const together = below(5) === 0 ? 1 + below(12) : 1;
  const [place, key, cost] = [below(limiters.length + 2), pick(), 1 + Math.max(below(6) - 3, 0)];
  for (let i = 0; i < together; i++) {
    // Equal ones are sent as one with a count.
    const [atPlace, atKey] = together > 6 ? [place, key] : [below(limiters.length + 2), pick()];
    const refund = below(16) === 0 ? takes.shift() : undefined;
    const call =
      refund?.() ??
      (atPlace > limiters.length ? hold(atKey) : decide(atPlace, atKey, cost, below(8) === 0 ? 'peek' : 'consume'));
    pending.add(call);
    call.then(() => pending.delete(call), fail);
  }
  await sleep(below(pauseMs));
}
await Promise.race([Promise.all(pending), sleep(3000, undefined, { ref: false }).then(() => fail('calls do not end'))]);
await Promise.all([...limiters, several, slots].map((limiter) => limiter.close()));
await store.close();
disconnect(); // and the process ends by itself
