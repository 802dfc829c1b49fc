import { afterEach, describe, expect, it } from '@jest/globals';
import {
  createLimiter,
  fixedWindow,
  memoryStore,
  type Decision,
  type Store,
  type StoreAnswers,
} from '@sluice/old-core';
import { remoteStore, type RemoteStore } from '@sluice/remote';
import { FRAME } from '@sluice/remote/wire';
import { until } from '@sluice/testkit';
import { welcomedClient } from './raw-client.ts';
import { listenForFrames, serviceOf, type FrameListener } from './service.ts';

const open: { close(): Promise<void> }[] = [];
afterEach(async () => {
  await Promise.all(open.splice(0).map((one) => one.close()));
});

async function listener(store: Store = memoryStore()): Promise<FrameListener> {
  const listening = await listenForFrames(serviceOf(store));
  open.push(listening);
  return listening;
}

function leave({ service }: FrameListener): void {
  service.health.isServing = false;
}

const CONSUME = [null, ['consume', [[0, 'key', 1]]]];

describe('a server that leaves', () => {
  it('tells so, answers what comes within a second, and ends the connection', async () => {
    const listening = await listener();
    const client = await welcomedClient(listening.port);
    leave(listening);
    await client.next(FRAME.leaving);
    client.send(FRAME.perform, 1, CONSUME);
    const answers = await client.next(FRAME.answers);
    await client.closed;

    expect(answers).toHaveLength(1);
    await until('the server has closed it too', () => listening.connections.size === 0);
  });

  it('answers what it has read before it ends the connection', async () => {
    const memory = memoryStore();
    let answer = (): void => undefined;
    const asked = new Promise<void>((resolve) => {
      answer = resolve;
    });
    const slow: Store = {
      ...{ source: 'redis', showsDenied: true },
      perform: async (requests): Promise<StoreAnswers> => {
        await asked;
        return memory.perform(requests);
      },
      close: () => Promise.resolve(),
    };
    const listening = await listener(slow);
    const client = await welcomedClient(listening.port);
    client.send(FRAME.perform, 1, [60_000, ...CONSUME.slice(1)]);
    leave(listening);
    await client.next(FRAME.leaving);
    const socket = [...listening.connections][0];
    await until('the connection is read no more', () => socket?.isPaused() === true);
    client.send(FRAME.perform, 2, CONSUME);
    answer();
    const answers = await client.next(FRAME.answers);
    await client.closed;

    expect(answers).toHaveLength(1);
    expect(client.frames.filter(({ type }) => type === FRAME.answers)).toHaveLength(1);
  });

  it('costs clients that know another one no decision', async () => {
    const store = memoryStore();
    const [one, other] = [await listener(store), await listener(store)];
    const remotes: RemoteStore[] = [];
    const limiters = Array.from({ length: 8 }, (_, i) => {
      const remote = remoteStore([one.url, other.url]);
      remotes.push(remote);
      open.push(remote);
      return createLimiter({
        ...{ name: `moving-${String(i)}`, policy: fixedWindow({ limit: 1_000_000, window: '1h' }) },
        ...{ store: remote, onStoreError: 'throw', timeoutMs: 10_000 },
      });
    });
    const decisions: Decision[] = [];
    let isDone = false;
    const workers = limiters.map(async (limiter) => {
      while (!isDone) decisions.push(await limiter.consume('key'));
    });
    await until('all decide', () => decisions.length > 200);
    leave(one);
    await until('all have moved', () => one.connections.size === 0);
    const before = decisions.length;
    await until('all decide again', () => decisions.length > before + 200);
    isDone = true;
    await Promise.all(workers);
    await Promise.all(limiters.map((limiter) => limiter.close()));

    expect(decisions.every(({ source }) => source === 'remote')).toBe(true);
    expect(other.connections.size).toBe(8);
  });

  it('takes no new clients', async () => {
    const listening = await listener();
    leave(listening);
    const remote = remoteStore(listening.url);
    open.push(remote);

    await expect(remote.ready(300)).rejects.toThrow('it starts, or shuts down');
  });
});
