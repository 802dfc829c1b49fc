import { describe, expect, it } from '@jest/globals';
import { concurrency, createLimiter, memoryStore } from '@sluice/core';
import { RequestLimiter } from '@sluice/core/http';
import { useFakeTime } from '../../guard/fake-store.ts';
import { useWarnings } from '../../use-warnings.ts';
import { place, plainFramework, PlainResponse, remembering, type PlainRequest } from '../plain-framework.ts';

const TTL_MS = 30_000;
const THIRD_MS = TTL_MS / 3;
const { pass } = useFakeTime();
const warnings = useWarnings();

let names = 0;

function scene(options: object = {}) {
  let memory = memoryStore();
  const store = remembering({ source: 'redis', perform: async (op, asks) => memory.perform(op, asks) });
  const policy = concurrency({ limit: 1, ttl: TTL_MS });
  const own = { name: `slots${String(names++)}`, policy, store, onStoreError: 'throw' as const }; // warnings name it
  const limiter = createLimiter(own);
  const requests = new RequestLimiter([place({ limiter, key: () => 'all', ...options })], plainFramework);
  return {
    releases: () => store.ops.filter((op) => op === 'give').length,
    loseAll: () => (memory = memoryStore()),
    free: async () => (await limiter.peek('all')).remaining,
    visit: async (response = new PlainResponse(), request: PlainRequest = {}) =>
      (await requests.plan(request, response)).denial?.status ?? 200,
  };
}

describe('the slot of a request', () => {
  it.each<[string, (response: PlainResponse) => void]>([
    ['was sent completely', (response) => (response.writableFinished = true)],
    ['has a stream that is closed', (response) => (response.stream = { closed: true })],
    ['has a stream that was sent completely', (response) => (response.stream = { writableFinished: true })],
  ])('is released without an event once the response %s', async (_what, end) => {
    const { releases, visit, free } = scene();
    const response = new PlainResponse();
    await visit(response);

    end(response);
    await pass(THIRD_MS);

    expect([await free(), releases(), warnings]).toEqual([1, 1, []]);
  });

  it('of a client that stops reading is released once, after maxSlotMs, ten minutes by default, with one warning', async () => {
    const { releases, visit, free } = scene();
    const [unread, other] = [new PlainResponse(), new PlainResponse()];
    await visit(unread);

    await pass(599_000);
    const before = await free();
    await pass(1_000);
    const after = await free();
    await visit(other);
    await pass(600_000);
    for (const response of [unread, other]) response.leave();
    await pass(0);

    expect([before, after, releases(), warnings]).toEqual([0, 1, 2, [expect.stringContaining('SLUICE_SLOT_TIMEOUT')]]);
  });

  it('is warned of if it is lost, and its release frees no slot of another request', async () => {
    const { loseAll, visit } = scene();
    const [response, other] = [new PlainResponse(), new PlainResponse()];
    await visit(response);

    loseAll();
    await pass(TTL_MS);
    const status = await visit(other);
    response.leave();
    await pass(0);

    expect([warnings, status, await visit()]).toEqual([[expect.stringContaining('SLUICE_SLOT_LOST')], 200, 429]);
    other.leave();
  });
});
