import { afterEach, describe, expect, it } from '@jest/globals';
import { setTimeout as sleep } from 'node:timers/promises';
import { fixedWindow } from '@sluice/old-core';
import type { Policies } from '@sluice/old-managed';
import { startConsumer, type Consumer, type Hears, type NodeView } from './three-processes.ts';
import { useManaged } from './use-managed.ts';

const { redis, policies } = useManaged();

let consumers: Consumer[] = [];
afterEach(() => {
  for (const consumer of consumers) consumer.kill();
});

const HEARD_WITHIN_MS = 1000;
const POLL_MS = 500;
/** A second limit each, in force one after the other, from odd moments of a window on. */
const LIMITS = [100, 50, 200, 100] as const;
/** Calls for what changed: a few when a process starts, and as many again for each change. */
const CALLS_FOR_CHANGES = 4 * LIMITS.length;
const put = async (here: Policies, limit: number): Promise<string> =>
  (await here.put('orders', fixedWindow({ limit, window: '1s' }), { apps: ['checkout'] })).change;

/** A limit, and when its put began and was done, by this process's clock: the children's as well. */
interface Change {
  readonly limit: number;
  readonly fromMs: number;
  readonly doneMs: number;
}

interface Run {
  readonly changes: readonly Change[];
  readonly seen: readonly NodeView[];
  readonly idempotent: readonly string[];
  readonly endMs: number;
  /** From before the first process was started until the last had said what it saw. */
  readonly elapsedMs: number;
}

/** Three processes under load, while the policy changes; each change is put again and again. */
async function run(hears: Hears, perSecond: number, beforeChange: () => Promise<void> = async () => {}): Promise<Run> {
  const here = policies();
  await put(here, LIMITS[0]);
  const startMs = performance.now();
  consumers = await Promise.all([1, 2, 3].map(() => startConsumer(redis.server.url, hears, perSecond)));
  const changes: Change[] = [];
  const idempotent: string[] = [];
  for (const [i, limit] of LIMITS.entries()) {
    if (i > 0) await beforeChange();
    const fromMs = Date.now();
    await put(here, limit);
    changes.push({ limit, fromMs, doneMs: Date.now() });
    const before = await redis.admin.dumpBuffer('sluice:policies');
    for (let again = 0; again < 3; again++) {
      await sleep(HEARD_WITHIN_MS / 2 + 37 * (i + 1)); // longer than a change may take, and no whole part of a window
      idempotent.push(await put(again === 1 ? policies() : here, limit));
    }
    expect(await redis.admin.dumpBuffer('sluice:policies')).toEqual(before);
  }
  const endMs = Date.now();
  const seen = await Promise.all(consumers.map((consumer) => consumer.stop()));
  return { changes, seen, idempotent, endMs, elapsedMs: performance.now() - startMs };
}

/** Decisions of a process that showed another limit than the one in force, more than a second after it had been put. */
function tooLate({ changes, endMs }: Run, { limits }: NodeView): unknown[] {
  return changes.flatMap(({ limit, doneMs }, i) => {
    const [fromMs, toMs] = [doneMs + HEARD_WITHIN_MS, changes[i + 1]?.fromMs ?? endMs];
    return limits.filter(([shown, first, last]) => shown !== limit && last > fromMs && first < toMs);
  });
}

/** What was allowed in each window by all processes, and the largest limit that a decision in it showed. */
function windowsOf({ seen }: Run): { endMs: number; allowed: number; largest: number }[] {
  const ends = [...new Set(seen.flatMap(({ windows }) => Object.keys(windows)))];
  return ends.map((end) => {
    const parts = seen.flatMap(({ windows }) => windows[end] ?? []);
    return {
      endMs: Number(end),
      allowed: parts.reduce((sum, { allowed }) => sum + allowed, 0),
      largest: Math.max(...parts.flatMap(({ limits }) => limits)),
    };
  });
}

describe('three processes with a managed fixedWindow, under load, while it changes from 100 to 50 to 200 a second', () => {
  it.each([
    ['as fast as they are answered, hearing and asking', 'both', 0, undefined],
    ['300 times a second, with notifications only', 'notifications', 300, undefined],
    ['300 times a second, with polling only', 'polling', 300, undefined],
    [
      '300 times a second, with a subscription that is cut before every change',
      'both',
      300,
      async () => {
        await redis.admin.call('CLIENT', 'KILL', 'TYPE', 'pubsub');
      },
    ],
  ] as const)('%s', async (_how, hears, perSecond, beforeChange) => {
    const ran = await run(hears, perSecond, beforeChange);
    const windows = windowsOf(ran);

    for (const one of ran.seen) {
      expect(one.limits.map(([limit]) => limit)).toEqual(LIMITS);
      expect(tooLate(ran, one)).toEqual([]);
    }
    expect(windows.filter(({ allowed, largest }) => allowed > largest)).toEqual([]);
    // The load was enough to find out: in each phase some window was used up.
    expect(windows.filter(({ allowed, largest }) => allowed === largest).length).toBeGreaterThanOrEqual(LIMITS.length);
    expect(new Set(ran.idempotent)).toEqual(new Set(['unchanged']));
    const calls = ran.seen.map(({ registryCalls }) => registryCalls);
    if (hears === 'notifications') expect(Math.max(...calls)).toBeLessThan(CALLS_FOR_CHANGES);
    if (hears === 'polling') expect(Math.max(...calls)).toBeLessThan(ran.elapsedMs / POLL_MS + CALLS_FOR_CHANGES);
  });
});
