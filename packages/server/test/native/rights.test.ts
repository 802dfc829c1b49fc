import { afterEach, describe, expect, it } from '@jest/globals';
import { createLimiter, fixedWindow, memoryStore } from '@sluice/old-core';
import { remoteStore, type RemoteStoreOptions } from '@sluice/remote';
import { FRAME } from '@sluice/remote/wire';
import { until } from '@sluice/testkit';
import { rawClient, welcomedClient } from './raw-client.ts';
import { listenForFrames, serviceOf, type FrameListener, type ServiceOptions } from './service.ts';

const open: { close(): Promise<void> }[] = [];
afterEach(async () => {
  await Promise.all(open.splice(0).map((one) => one.close()));
});

async function listener(isPrivate: boolean, options: ServiceOptions = {}): Promise<FrameListener> {
  const listening = await listenForFrames(serviceOf(memoryStore(), options), { entrance: { isPrivate } });
  open.push(listening);
  return listening;
}

async function consume(url: string, options: RemoteStoreOptions = {}): Promise<unknown> {
  const store = remoteStore(url, options);
  open.push(store);
  const limiter = createLimiter({ policy: fixedWindow({ limit: 5, window: '1h' }), store, onStoreError: 'throw' });
  await limiter.charge('key', 1);
  return limiter.consume('key');
}

describe('a listener that strangers reach', () => {
  it('takes clients with the token', async () => {
    const { url } = await listener(false, { token: 'secret' });

    expect(await consume(url, { token: 'secret' })).toMatchObject({ allowed: true, used: 2 });
  });

  it.each([
    [{}, 'this listener takes only clients with a token: write remoteStore(url, { token })'],
    [{ token: 'Secret' }, 'the token is wrong: write remoteStore(url, { token })'],
    [{ token: 'secretsecret' }, 'the token is wrong'],
  ])('rejects clients with %j, and says what to write', async (options, message) => {
    const { url } = await listener(false, { token: 'secret' });

    await expect(consume(url, options)).rejects.toMatchObject({
      code: 'SLUICE_STORE_FAILED',
      kind: 'denied',
      message: expect.stringContaining(message),
    });
  });

  it('takes no clients where the service has no token', async () => {
    const { url } = await listener(false);

    await expect(consume(url, { token: 'any' })).rejects.toMatchObject({ kind: 'denied' });
  });

  it.each([{ token: ['secret'] }, { token: { a: 1 } }, { token: 'secret x' }, [], null, 'secret', 5])(
    'rejects a hello of %j',
    async (hello) => {
      const { port } = await listener(false, { token: 'secret' });
      const client = await rawClient(port, typeof hello === 'string' ? JSON.stringify(hello) : hello);

      expect(await client.next(FRAME.rejected)).toMatchObject({ kind: 'denied' });
      await client.closed;
    },
  );

  it('does nothing of what comes with a hello that it rejects', async () => {
    const { port, service } = await listener(false, { token: 'secret' });
    const client = await rawClient(port);
    client.send(FRAME.limit, 0, {});
    client.send(FRAME.perform, 1, [null, ['reset', [0, 'key', 0]]]);

    await client.closed;
    expect(client.frames.map(({ type }) => type)).toEqual([FRAME.rejected]);
    expect(service.store).toMatchObject({ size: 0 });
  });
});

describe('a private listener', () => {
  it('needs no token', async () => {
    const { url } = await listener(true, { token: 'secret' });

    expect(await consume(url)).toMatchObject({ allowed: true });
  });

  it.each([0, 1, 3, '2', undefined])('rejects clients of the version %j of the protocol', async (protocol) => {
    const { port } = await listener(true);
    const client = await rawClient(port, { protocol });

    expect(await client.next(FRAME.rejected)).toMatchObject({
      message: expect.stringContaining('the server speaks version 2 of the protocol'),
    });
  });
});

describe('a service that shuts down', () => {
  it('tells its clients, answers what they still send, and takes no new ones', async () => {
    const { port, service, url } = await listener(true);
    const client = await welcomedClient(port);

    service.health.isServing = false;
    await client.next(FRAME.leaving);
    client.send(FRAME.perform, 1, [null, ['consume', [[0, 'key', 1]]]]);

    const [[, parts]] = (await client.next(FRAME.answers)) as [[number, [[boolean, [[boolean, number]]]]]];
    expect(parts[0][1][0].slice(0, 2)).toEqual([true, 1_000_000]);
    await expect(consume(url)).rejects.toMatchObject({
      kind: 'connection',
      message: expect.stringContaining('the server does not serve now: it starts, or shuts down'),
    });
  });

  it('is left by its clients for another one', async () => {
    const [first, second] = [await listener(true), await listener(true)];
    const store = remoteStore([first.url, second.url]);
    open.push(store);
    await store.ready();
    const [from, to] = first.connections.size === 1 ? [first, second] : [second, first];

    from.service.health.isServing = false;

    await until('it has moved', () => to.connections.size === 1 && from.connections.size === 0);
  });
});
