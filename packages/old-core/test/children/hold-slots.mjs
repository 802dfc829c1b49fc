// Acquires slots of one key of the built package, holds them for a while, renews some, and releases them; or is killed
// in the middle of that. Records by the server's clock what it surely held, before anything can end it: a line when a
// slot is acquired, one when it surely was renewed, one before it is released.
//
// argv: the server's URL, a file, the policy's options as JSON. It ends when its input does.
import { openSync, writeSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { concurrency, createLimiter, redisStore } from '@sluice/old-core';
import { Redis } from 'ioredis';

const [, , url, file, options] = process.argv;
const log = openSync(file, 'a');
const write = (line) => writeSync(log, `${JSON.stringify(line)}\n`);
const redis = new Redis(url);
const clock = new Redis(url);
const serverMs = async () => {
  const [seconds, micros] = await clock.time();
  return Number(seconds) * 1000 + Math.floor(Number(micros) / 1000);
};
const limiter = createLimiter({
  name: 'held',
  policy: concurrency(JSON.parse(options)),
  store: redisStore(redis, { prefix: 'sluice' }),
  onStoreError: 'throw',
  timeoutMs: 30_000,
});

let going = true;
process.stdin.resume().on('end', () => (going = false));
process.stdout.write('ready\n');

let made = 0;
async function loop() {
  while (going) {
    const n = `${process.pid}-${made++}`;
    const { decision, release, renew } = await limiter.acquire('key');
    if (!decision.allowed) {
      await sleep(Math.random() * 10);
      continue;
    }
    write({ n, what: 'had', atMs: decision.atMs });
    await sleep(Math.random() * 30);
    if (Math.random() < 0.3) {
      const atMs = await serverMs();
      if (await renew()) write({ n, what: 'renewed', atMs });
    }
    write({ n, what: 'released', atMs: await serverMs() });
    await release();
  }
}

await Promise.all(Array.from({ length: 3 }, loop));
await limiter.close();
process.exit(0);
