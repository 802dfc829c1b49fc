import { AsyncLocalStorage } from 'node:async_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

/** What an application stores for each request: a session, a trace, a transaction. */
const requests = new AsyncLocalStorage<object>();

/** Whether nothing holds what was stored for a request, once `act` has ended: a timer would, for as long as it runs. */
export async function isFreedAfter(act: () => Promise<unknown>, tries = 40): Promise<boolean> {
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
