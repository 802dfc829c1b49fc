import { createHook } from 'node:async_hooks';
import { spawnSync } from 'node:child_process';
import { describe, expect, it, jest } from '@jest/globals';
import { createLimiter, fixedWindow, memoryStore, redisStore, type Store } from '@sluice/old-core';
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
    const store = redisStore(redis.client, { prefix: 'sluice' });
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

  describe('in a process that nothing else keeps alive', () => {
    /** What a program prints about the decisions of a store that answers only the first so many. */
    const sourcesOf = (answers: number, decisions: number, timeoutMs: number): string => {
      const program = `
        import { createLimiter, fixedWindow, memoryStore } from ${JSON.stringify(new URL('../../dist/index.js', import.meta.url).href)};
        const memory = memoryStore();
        let calls = 0;
        const perform = async (requests) =>
          ++calls > ${String(answers)} ? new Promise(() => undefined) : memory.perform(requests);
        const store = { source: 'redis', perform };
        const limiter = createLimiter({ policy: fixedWindow({ limit: 10, window: '1h' }), store, timeoutMs: ${String(timeoutMs)} });
        for (let i = 0; i < ${String(decisions)}; i++) console.log((await limiter.consume('key')).source);
      `;
      const options = { encoding: 'utf8', timeout: 60_000 } as const;
      const { stdout, status } = spawnSync(process.execPath, ['--input-type=module', '-e', program], options);
      return `${stdout.trim().split('\n').join(' ')}, ${String(status)}`;
    };

    it('is kept', () => {
      expect(sourcesOf(0, 1, 50)).toBe('local, 0');
    });

    it('is kept after answered calls, whose timer is restarted', () => {
      expect(sourcesOf(2, 4, 50)).toBe('redis redis local local, 0');
    });

    it('does not keep the process after the last answer', () => {
      expect(sourcesOf(3, 3, 2_000_000_000)).toBe('redis redis redis, 0');
    });
  });

  it('has the timers of earlier calls, also where several wait at once', async () => {
    const memory = memoryStore();
    const perform: Store['perform'] = async (requests) => {
      await new Promise(setImmediate);
      return memory.perform(requests);
    };
    const timeoutMs = 54_321;
    const limiter = createLimiter({ policy, store: { source: 'redis', perform }, timeoutMs });
    const fourAtOnce = () => Promise.all([1, 2, 3, 4].map((number) => limiter.consume(`key-${String(number)}`)));
    let made = 0;
    const hook = createHook({
      init: (_id, _type, _trigger, resource) => {
        if ((resource as { _idleTimeout?: unknown })._idleTimeout === timeoutMs) made++;
      },
    }).enable();

    await fourAtOnce();
    const first = made;
    await fourAtOnce();
    hook.disable();

    expect({ first, second: made - first }).toEqual({ first: 4, second: 0 });
  });

  it('is a timer of its own under fake timers, and a restarted one after them', async () => {
    let hangs = false;
    const memory = memoryStore();
    const perform: Store['perform'] = (requests) => (hangs ? new Promise(() => undefined) : memory.perform(requests));
    const store: Store = { source: 'redis', breaker: false, perform: async (requests) => perform(requests) };
    const limiter = createLimiter({ policy, store, timeoutMs: 30 });
    await limiter.consume('key');
    jest.useFakeTimers({ doNotFake: ['performance', 'nextTick', 'setImmediate'] });
    await limiter.consume('key');
    hangs = true;
    const sources: string[] = [];
    const faked = limiter.consume('key').then(({ source }) => sources.push(source));
    while (sources.length === 0) await jest.advanceTimersByTimeAsync(30); // once more after a stall
    await faked;
    jest.useRealTimers();
    const startMs = performance.now();
    sources.push((await limiter.consume('key')).source);

    expect(sources).toEqual(['local', 'local']);
    expect(performance.now() - startMs).toBeGreaterThanOrEqual(29);
  });
});
