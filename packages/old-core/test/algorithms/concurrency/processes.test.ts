import { spawn, type ChildProcessWithoutNullStreams } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { afterEach, describe, expect, it } from '@jest/globals';
import { concurrency, createLimiter, redisStore } from '@sluice/old-core';
import { until, useRedis } from '@sluice/testkit';

const redis = useRedis();
const SCRIPT = fileURLToPath(new URL('../../children/hold-slots.mjs', import.meta.url));
const options = { limit: 5, ttl: 1_500 };

const children: ChildProcessWithoutNullStreams[] = [];
const folder = mkdtempSync(join(tmpdir(), 'sluice-slots-'));
afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL');
  rmSync(folder, { recursive: true, force: true });
});

async function start(file: string): Promise<ChildProcessWithoutNullStreams> {
  const child = spawn(process.execPath, [SCRIPT, redis.server.storeUrl, file, JSON.stringify(options)]);
  children.push(child);
  let errors = '';
  child.stderr.on('data', (text: Buffer) => (errors += text.toString()));
  const gone = once(child, 'exit').then(() => Promise.reject(new Error(`a process ended early: ${errors}`)));
  gone.catch(() => undefined);
  await Promise.race([once(child.stdout, 'data'), gone]);
  return child;
}

interface Line {
  readonly n: string;
  readonly what: 'had' | 'renewed' | 'released';
  readonly atMs: number;
}

/** When each slot was surely held, by the server's clock: until it was about to be released, or else expired. */
function intervals(files: readonly string[]): { fromMs: number; toMs: number }[] {
  const held = new Map<string, { fromMs: number; toMs: number }>();
  for (const { n, what, atMs } of files.flatMap((file) => linesOf(file))) {
    const slot = held.get(n);
    if (slot === undefined) held.set(n, { fromMs: atMs, toMs: atMs + options.ttl });
    else slot.toMs = what === 'renewed' ? atMs + options.ttl : Math.min(slot.toMs, atMs);
  }
  return [...held.values()];
}

/** The last line may have been cut off. */
function linesOf(file: string): Line[] {
  return readFileSync(file, 'utf8')
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line) as Line);
}

/** The most that were held at one instant. */
function mostAtOnce(slots: readonly { fromMs: number; toMs: number }[]): number {
  const steps = slots.flatMap(({ fromMs, toMs }) => (fromMs < toMs ? [[fromMs, 1] as const, [toMs, -1] as const] : []));
  steps.sort(([a, up], [b, down]) => a - b || up - down); // who leaves makes room
  let now = 0;
  return steps.reduce((most, [, step]) => Math.max(most, (now += step)), 0);
}

describe('slots of one key, held by eight processes of which some are killed', () => {
  it('are never more than there are at any instant of the server’s clock, and all there again after a ttl', async () => {
    const files = Array.from({ length: 12 }, (_, i) => join(folder, `${String(i)}.log`));
    const running = await Promise.all(files.slice(0, 8).map((file) => start(file)));

    // Killed while it holds: its last line says so.
    for (const i of [0, 1, 2, 3]) {
      await sleep(200);
      await until('a process holds a slot', () => linesOf(files[i] as string).at(-1)?.what === 'had');
      running[i]?.kill('SIGKILL');
      running.push(await start(files[8 + i] as string));
    }
    await sleep(options.ttl);
    await until('there was enough to see', () => {
      const seen = intervals(files);
      return seen.length > 50 && mostAtOnce(seen) >= options.limit;
    });
    for (const child of running.slice(4)) child.kill('SIGKILL');
    await Promise.all(running.map(async (child) => child.exitCode ?? child.signalCode ?? once(child, 'exit')));

    const limiter = createLimiter({
      name: 'held',
      policy: concurrency(options),
      store: redisStore(redis.client, { prefix: 'sluice' }),
      onStoreError: 'throw',
      timeoutMs: 30_000,
    });
    const { resetAfterMs } = await limiter.peek('key', 0);
    const slots = intervals(files);

    expect(slots.length).toBeGreaterThan(50);
    expect(mostAtOnce(slots)).toBe(options.limit);
    expect(resetAfterMs).toBeLessThanOrEqual(options.ttl);
    await until('all slots are free', async () => (await limiter.peek('key', 0)).remaining === options.limit);
    const all = [];
    for (let i = 0; i <= options.limit; i++) all.push((await limiter.acquire('key')).decision.allowed);
    expect(all).toEqual([...Array<boolean>(options.limit).fill(true), false]);
  }, 60_000);
});
