// One process of a run: calls limiters of the built package at random, mostly one after the other in two loops, and
// writes every call down before it is made and when its end is known, so that kill -9 loses no record.
//
// argv: JSON of ClientOptions (see client-process.ts). It begins with the first line of its input, and ends with it.
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { openSync, writeSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  createLimiter,
  fixedWindow,
  redisStore,
  slidingCounter,
  slidingLog,
  slidingWindow,
  tokenBucket,
} from '@sluice/old-core';
import { createRedisStore, general, batch } from '@sluice/old-core/spi';
import { Redis } from 'ioredis';

const options = JSON.parse(process.argv[2]);
const make = { fixedWindow, slidingCounter, slidingLog, slidingWindow, tokenBucket };
const log = openSync(options.log, 'a');
const write = (line) => writeSync(log, `${JSON.stringify(line)}\n`);
/** The monotonic clock of the machine, in ms. */
const nowMs = () => Number(process.hrtime.bigint()) / 1e6;

process.on('uncaughtException', (error) => {
  write({ broken: `uncaught: ${error.stack}` });
  process.exit(1);
});

const store = await storeOf(options);
const limiters = options.keys.map((policies, key) =>
  createLimiter({
    name: `limiter-${key}`,
    policy: policies.map(({ make: kind, options }) => make[kind](options)),
    store,
    onStoreError: 'throw',
    denialCache: false, // only decisions of the store can be explained
    timeoutMs: options.timeoutMs,
  }),
);

async function storeOf({ client, url, store, script }) {
  if (typeof client === 'object') return (await import(client.module))[client.make](url, store);
  const connection = client === 'url' ? url : ownClient();
  return script === undefined ? redisStore(connection, { prefix: 'sluice', ...store }) : alteredStore(connection);
}

/** Because a decision must not wait: no queue while there is no connection, and no second attempt. */
function ownClient() {
  const redis = new Redis(options.url, { enableOfflineQueue: false, autoResendUnfulfilledCommands: false });
  redis.on('error', () => undefined);
  return redis;
}

/** The store on scripts with a fault, or with the time of this process. */
function alteredStore(client) {
  const { changes, clockAheadMs } = options.script;
  for (const [text] of changes) {
    if (!`${general.source}${batch.source}`.includes(text)) throw new Error(`no script has ${text}`);
  }
  const altered = (script) => {
    const source = changes.reduce((changed, [text, by]) => changed.replace(text, by), script.source);
    return { source, sha1: createHash('sha1').update(source).digest('hex') };
  };
  const instantOf = clockAheadMs === undefined ? undefined : () => Date.now() + options.number * clockAheadMs;
  return createRedisStore(
    client,
    { prefix: 'sluice', ...options.store, check: false },
    { general: altered(general), batch: altered(batch) },
    instantOf,
  );
}

let state = options.seed >>> 0;
function random(most) {
  state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
  return Math.floor((state / 2 ** 32) * most);
}

let calls = 0;
/** Decisions that may be refunded: their key, and the number of the call that consumed. */
const consumed = [];

async function call(key) {
  const n = calls++;
  const limiter = limiters[key];
  const kind = random(100);
  const cost = [1, 1, 1, 1, 2, 3][random(6)];
  const toRefund = kind >= 88 && kind < 98 ? consumed.splice(random(consumed.length), 1)[0] : undefined;
  const asked =
    toRefund !== undefined
      ? { op: 'refund', key: toRefund.key, cost: 1 + random(toRefund.decision.cost), of: toRefund.n }
      : { op: kind < 78 ? 'consume' : kind < 98 ? 'peek' : 'reset', key, cost };
  write({ n, ...asked, invokedMs: nowMs() });
  try {
    const decision = await ask(limiter, asked, toRefund);
    write({ n, end: 'answered', endedMs: nowMs(), reply: decision && replyOf(decision) });
    if (decision?.allowed && asked.op === 'consume') consumed.push({ n, key, decision });
    if (consumed.length > 20) consumed.shift();
  } catch (error) {
    write({ n, end: endOf(error), endedMs: nowMs(), error: `${error.message}` });
  }
}

function ask(limiter, { op, key, cost }, toRefund) {
  const subject = 'subject';
  if (op === 'refund') return limiters[key].refund(toRefund.decision, cost);
  return op === 'reset' ? limiter.reset(subject) : limiter[op](subject, cost);
}

function replyOf({ allowed, atMs, policies }) {
  const reported = ({ allowed, remaining, retryAfterMs, resetAfterMs, nextAfterMs }) => ({
    allowed,
    remaining,
    retryAfterMs,
    resetAfterMs,
    nextAfterMs,
  });
  return { allowed, atMs, policies: policies.map(reported) };
}

function endOf(error) {
  if (error.code === 'SLUICE_BREAKER_OPEN') return 'unsent';
  if (/there is no connection to|Stream isn't writeable/.test(error.message)) return 'unsent';
  if (error.code === 'SLUICE_STORE_TIMEOUT' || error.code === 'SLUICE_STORE_FAILED') return 'unknown';
  write({ broken: error.stack });
  return 'unknown';
}

let going = true;
const begun = once(process.stdin, 'data');
process.stdin.on('end', () => (going = false));

async function loop() {
  while (going) {
    // Sometimes several in one turn, key by key: they are sent together.
    const together = random(20) === 0 ? 1 + random(options.together) : 1;
    const first = random(limiters.length);
    await Promise.all(Array.from({ length: together }, (_, i) => call((first + i) % limiters.length)));
    const pause = random(100);
    if (pause < 60) await sleep(random(8));
    else if (pause < 61) await sleep(random(400));
  }
}

process.stdout.write('ready\n');
await begun;
await Promise.all([loop(), loop()]);
await Promise.all(limiters.map((limiter) => limiter.close()));
process.exit(0);
