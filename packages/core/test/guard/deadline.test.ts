import { spawnSync } from 'node:child_process';
import { describe, expect, it } from '@jest/globals';
import { createLimiter, fixedWindow, memoryStore, redisStore, type Store } from '@sluice/core';
import { useRedis } from '@sluice/testkit';

const redis = useRedis();

const policy = fixedWindow({ limit: 10, window: '1h' });

/** Keeps this process from its timers and sockets. */
const stall = (ms: number): void => {
  const endMs = performance.now() + ms;
  while (performance.now() < endMs);
};

/**
 * Keeps this process from its timers and sockets until the server has answered a later connection, and so everything
 * that was sent to it before.
 */
const stallUntilAnotherIsAnswered = (port: number): void => {
  const program = `
    const socket = require('node:net').connect(${String(port)}, '127.0.0.1', () => socket.write('PING\\r\\n'));
    socket.once('data', (answer) => {
      console.log(String(answer));
      socket.destroy();
    });
  `;
  expect(spawnSync(process.execPath, ['-e', program], { encoding: 'utf8' }).stdout).toContain('PONG');
};

describe('the deadline of a decision', () => {
  it('is not missed by an answer that waits in the socket while this process is busy', async () => {
    const store = redisStore(redis.client);
    const patient = createLimiter({ name: 'patient', policy, store, timeoutMs: 60_000, onStoreError: 'throw' });
    await patient.consume('key'); // the script is there now
    const limiter = createLimiter({ policy, store, timeoutMs: 20 });

    const decision = limiter.consume('key');
    await new Promise(setImmediate); // sent
    stall(50);
    stallUntilAnotherIsAnswered(redis.server.port);

    expect((await decision).source).toBe('redis');
  });

  it('gives a store some time after a stall in which nothing could be sent', async () => {
    const memory = memoryStore();
    const store: Store = {
      source: 'redis',
      async perform(requests) {
        await new Promise((resolve) => setTimeout(resolve, 1)); // the store's own way, of which a stall is no part
        await new Promise((resolve) => setTimeout(resolve, 1));
        return memory.perform(requests);
      },
    };
    const limiter = createLimiter({ policy, store, timeoutMs: 50 });

    const decision = limiter.consume('key');
    stall(200);

    expect((await decision).source).toBe('redis');
  });

  it('is kept though nothing else keeps the process alive', () => {
    const program = `
      import { createLimiter, fixedWindow } from ${JSON.stringify(new URL('../../dist/index.js', import.meta.url).href)};
      const store = { source: 'redis', perform: () => new Promise(() => undefined) };
      const limiter = createLimiter({ policy: fixedWindow({ limit: 1, window: '1h' }), store, timeoutMs: 50 });
      console.log((await limiter.consume('key')).source);
    `;

    const { stdout, status } = spawnSync(process.execPath, ['--input-type=module', '-e', program], {
      encoding: 'utf8',
    });

    expect([stdout.trim(), status]).toEqual(['local', 0]);
  });
});
