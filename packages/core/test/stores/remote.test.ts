import { once } from 'node:events';
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { createLimiter, fixedWindow, remoteStore, silenceWarnings, type Ask, type RemoteStore } from '@sluice/core';
import { useClosing } from '@sluice/testkit';

const ASKS: readonly Ask[] = [
  { key: '{ann}:api', policy: fixedWindow({ limit: 1, window: '1m', blockFor: '1h' }), cost: 1 },
];
const DENIAL = { answers: [{ atMs: 1_900_000_000_000, figures: [[0, 0, 1, 900, 900, 900, 0, 0]] }] };

const closeLater = useClosing();
let service: Server;
let store: RemoteStore;
let requests = 0;
let hangs = false;
let status = 200;

beforeEach(async () => {
  requests = 0;
  hangs = false;
  status = 200;
  service = createServer((_request, response) => {
    requests++;
    response.statusCode = status;
    if (!hangs) response.setHeader('content-type', 'application/json').end(JSON.stringify(DENIAL));
  });
  await once(service.listen(0, '127.0.0.1'), 'listening');
  closeLater(() => service.close().closeAllConnections());
  store = closeLater(remoteStore(`http://127.0.0.1:${String((service.address() as AddressInfo).port)}`));
});
afterEach(() => {
  jest.useRealTimers();
  jest.restoreAllMocks();
});

describe('a remote store', () => {
  it('remembers a denial, so that the next request needs no call', async () => {
    jest.spyOn(performance, 'now').mockReturnValue(performance.now()); // a denial is remembered for less than a second
    await store.perform('take', ASKS);

    expect(await store.perform('take', ASKS)).toMatchObject({ source: 'cache' });
    expect(requests).toBe(1);
  });

  it('does not remember what a waiting request was denied: that of another starts the block', async () => {
    await store.perform('try', ASKS);
    await store.perform('take', ASKS);

    expect(requests).toBe(2);
  });

  it.each([
    [400, 'reply'],
    [401, 'denied'],
    [413, 'reply'],
  ])('whose request is rejected with %i has not lost its service: the breaker stays closed', async (code, kind) => {
    silenceWarnings('SLUICE_STORE_AWAY');
    status = code;
    const limiter = createLimiter({ limit: 1, window: '1m', store, onStoreError: 'throw', timeoutMs: 60_000 });
    const errors: unknown[] = [];
    for (let i = 0; i < 10; i++) errors.push(await limiter.consume('ann').catch((error: unknown) => error));
    await limiter.close();

    const rejected: unknown = expect.objectContaining({ code: 'SLUICE_STORE_REPLY_INVALID', kind, sent: false });
    expect(errors).toEqual(Array(10).fill(rejected));
    expect(requests).toBe(10);
  });

  it('ends a request that the service does not answer within 10 s', async () => {
    jest.useFakeTimers({ doNotFake: ['setImmediate', 'nextTick', 'queueMicrotask', 'performance'] });
    hangs = true;
    const outcome = Promise.resolve(store.perform('take', ASKS)).catch((error: unknown) => error);
    const [, response] = (await once(service, 'request')) as [unknown, ServerResponse];
    const closed = once(response, 'close');

    jest.advanceTimersByTime(10_000);

    expect(await outcome).toMatchObject({ code: 'SLUICE_STORE_FAILED', kind: 'connection', sent: true });
    await closed;
  });
});
