import * as core from '../../packages/core/dist/index.js';
import { fakeClock } from '../../packages/testkit/dist/fake-clock.js';

/** An edge of every window that divides a day. */
const START_MS = Date.UTC(2026, 0, 1);
const KEY = 'client';

/**
 * Sends the traffic through a limiter of this policy, in virtual time.
 *
 * @returns Per request: `{ atMs, units, allowed, startMs, endMs }`, instants from the start of the traffic.
 */
export async function replay({ make, options, units = 1, slots = false }, offered) {
  const clock = fakeClock(START_MS);
  const policy = core[make](options);
  const limiter = core.createLimiter({ policy, store: core.memoryStore({ clock }), onStoreError: 'throw' });
  const running = [];
  const requests = [];
  for (const { atMs, runsMs } of offered.filter((_, i) => (i + 1) % units === 0)) {
    while (slots && running.length > 0 && running[0].endMs <= atMs) {
      const { endMs, held } = running.shift();
      clock.atMs = START_MS + endMs;
      await held.release();
    }
    clock.atMs = START_MS + atMs;
    const held = slots ? await limiter.acquire(KEY) : undefined;
    const { allowed, delayMs } = held?.decision ?? (await limiter.consume(KEY, units));
    const startMs = atMs + delayMs;
    const endMs = startMs + runsMs;
    requests.push({ atMs, units, allowed, startMs, endMs });
    if (slots && allowed) {
      running.push({ endMs, held });
      running.sort((a, b) => a.endMs - b.endMs);
    }
  }
  await limiter.close();
  return { policy, requests };
}
