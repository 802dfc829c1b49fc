import { AsyncLocalStorage } from 'node:async_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { describe, expect, it } from '@jest/globals';
import { expectWarnings } from '@sluice/testkit';
import { Guard } from '../../src/guard/guard.ts';
import { startTimer, stopTimer } from '../../src/platform.ts';
import { ASKS, FakeStore } from '../guard/fake-store.ts';

expectWarnings('SLUICE_STORE_AWAY');

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

/** What an application stores for each request: a session, a trace, a transaction. */
const requests = new AsyncLocalStorage<object>();

/** Whether nothing holds what was stored for a request, once `act` has ended: a timer would, for as long as it runs. */
async function isFreedAfter(act: () => Promise<unknown>, tries = 40): Promise<boolean> {
  const stored = await storedDuring(act);
  for (let i = 0; i < tries; i++) {
    await sleep(5);
    collectGarbage();
    if (stored.deref() === undefined) return true;
  }
  return false;
}

async function storedDuring(act: () => Promise<unknown>): Promise<WeakRef<object>> {
  const stored = { session: 'of one request' };
  await requests.run(stored, async () => act().catch(() => undefined));
  return new WeakRef(stored);
}

const stopLater: ReturnType<typeof startTimer>[] = [];
const askFor = async (guard: Guard, ms: number): Promise<unknown> =>
  guard.perform('take', ASKS, performance.now() + ms);

describe('what an application stores for a request is free again when the request has ended', () => {
  it('unless a timer was made in it: so this test would see one', async () => {
    let timer: NodeJS.Timeout | undefined;
    const make = async (): Promise<unknown> => Promise.resolve((timer = setTimeout(() => undefined, 3_600_000)));

    const isFreed = await isFreedAfter(make, 2);
    clearTimeout(timer);

    expect(isFreed).toBe(false);
  });

  it.each<[string, behaviour: FakeStore['behaviour'], act: (guard: Guard) => unknown]>([
    ['that started a timer of ours', 'answers', () => stopLater.push(startTimer(3_600_000, () => undefined))],
    ['whose call started the timer of all deadlines', 'answers', (guard) => askFor(guard, 60_000)],
    [
      'that opened the breaker, and starts its probes',
      'fails',
      (guard) => Promise.all([1, 2, 3, 4, 5].map(() => askFor(guard, 100))),
    ],
    ['that left an edit to be sent later', 'fails', (guard) => guard.keep('give', ASKS)],
  ])('%s', async (_what, behaviour, act) => {
    const guard = new Guard(new FakeStore(behaviour));

    expect(await isFreedAfter(async () => act(guard))).toBe(true);
    for (const timer of stopLater.splice(0)) stopTimer(timer);
  });
});
