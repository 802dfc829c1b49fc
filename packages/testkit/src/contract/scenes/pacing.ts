import { expect } from '@jest/globals';
import { createLimiter, fixedWindow, leakyBucket, type Decision } from '@sluice/core';
import { until } from '../../until.ts';
import { numberIn } from '../adapter.ts';
import { begin, makeBytes, leave, visit, type Visit } from '../connections.ts';
import type { Ask } from '../ask.ts';
import { Log } from '../log.ts';
import { BOTH, WAYS, exactly, scene, type RecordedCall, type Scene, type Stage } from '../stage.ts';
import { watched } from '../stores.ts';

/** More than the runtime's own timers. */
const MANY = 30;
const SOME = 15;
/** One per hour, so that a waiting request waits longer than any test. */
const hourly = leakyBucket({ name: 'pace', limit: 1, window: '1h', maxDelay: '2d' });
const daily = fixedWindow({ name: 'window', limit: 100, window: '1d' });

const sentNow = (): Ask => ({ headers: { 'X-Sent': String(performance.now()) } });
const waitedMs = (call: RecordedCall): number => call.startedAtMs - numberIn(call, 'x-sent', NaN);
/** Timers that keep this process alive. */
const timers = (): number => process.getActiveResourcesInfo().filter((resource) => resource === 'Timeout').length;

/** A server that starts one request an hour, by a clock that does not move. */
async function hourlyScene(stage: Stage) {
  const [store, decisions] = [watched(stage.store()), new Log<Decision>()];
  const own = { name: 'pace', shared: true, policy: [hourly, daily], ...exactly(store) };
  const limiter = createLimiter(own);
  const server = await stage.serve({ ...own, onDecision: decisions.add });
  return {
    ...{ server, decisions, gives: store.performed('give') },
    left: async () => (await limiter.peek('127.0.0.1')).policies.map(({ remaining }) => remaining),
    /** Begins this many requests, each after the decision on the previous one. */
    visits: async (count: number): Promise<Visit[]> => {
      const begun: Visit[] = [];
      for (let i = 0; i < count; i++) {
        const before = decisions.count;
        begun.push(await visit(stage, server));
        await decisions.reaches(before + 1);
      }
      return begun;
    },
  };
}

/** Requests that a leaky bucket starts one by one. */
export const pacing: readonly Scene[] = [
  scene('pacing starts ten of 50 simultaneous requests, none before its time, and denies 40', BOTH, async (stage) => {
    const server = await stage.serve({ policy: leakyBucket({ limit: 50, window: '1s', maxDelay: 180 }) });

    const answers = await Promise.all(Array.from({ length: 50 }, async () => server.send(sentNow())));
    const denied = answers.filter(({ status }) => status === 429);
    // A busy machine begins several at once, in any order.
    const delays = server.calls.all.map((call) => call.rateLimit?.decision.delayMs ?? NaN);
    const early = server.calls.all.filter((call, i) => waitedMs(call) < (delays[i] ?? NaN));

    expect(denied.map(({ headers }) => headers['retry-after'])).toEqual(new Array(40).fill('1'));
    expect(delays.toSorted((a, b) => a - b)).toEqual([0, 20, 40, 60, 80, 100, 120, 140, 160, 180]);
    expect(early).toEqual([]);
  }),
  scene('pacing frees only the last position when its client disconnects', BOTH, async (stage) => {
    const { gives, left, visits } = await hourlyScene(stage);
    const [, second, , fourth] = await visits(4);

    await second?.leave();
    await gives.reaches(1);
    const withinTheLine = await left();
    await fourth?.leave();
    await gives.reaches(2);

    expect(withinTheLine).toEqual([45, 96]);
    expect(await left()).toEqual([46, 96]); // units of a window stay taken
  }),
  scene('pacing forgets clients that leave, and keeps no timer', WAYS, async (stage) => {
    const before = timers();
    const { server, visits } = await hourlyScene(stage);
    const begun = await visits(MANY + 1);
    await until('the first has started', () => server.calls.count === 1);

    for (const one of begun) await one.leave();
    await until('their timers are gone', () => timers() < before + SOME);

    expect(server.calls.count).toBe(1);
  }),
  scene('pacing forgets requests that are pipelined on a connection that ends', BOTH, async (stage) => {
    const { server, decisions, gives } = await hourlyScene(stage);
    const socket = await begin(server.port, makeBytes().repeat(MANY));
    await decisions.reaches(MANY);
    await until('the first has started', () => server.calls.count === 1);

    await leave(socket);
    await gives.reaches(MANY - 1);

    expect(server.calls.count).toBe(1);
  }),
];
