import { spawn, type ChildProcessWithoutNullStreams } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { createLimiter, fixedWindow, redisStore, type Policy } from '@sluice/old-core';
import { managed, type ManagedReference } from '@sluice/old-managed';
import { startRedis, startTcpProxy, until, type RedisServer, type TcpProxy } from '@sluice/testkit';
import { useManaged } from './use-managed.ts';

const { redis, policies, limiter } = useManaged();

const ten = fixedWindow({ limit: 10, window: '1h' });
const apps = ['checkout'];

/** How long an idle process may take to end: it drops a connection that hangs after three seconds. */
const GENEROUS_MS = 30_000;
/** How long a decision may take where a server answers, however slow the machine is. */
const PLENTY_MS = '10000';

interface Running {
  readonly process: ChildProcessWithoutNullStreams;
  /** What it said by the time it ended by itself, and its code; the signal, where it did not. */
  readonly ended: Promise<{ said: string; code: number | null; signal: string | null }>;
}

/** Starts a process of the built package. */
function start(script: string, ...args: readonly string[]): Running {
  const path = fileURLToPath(new URL(`children/${script}`, import.meta.url));
  const child = spawn(process.execPath, [path, ...args]);
  let said = '';
  child.stdout.on('data', (text: Buffer) => (said += text.toString()));
  child.stderr.on('data', (text: Buffer) => (said += text.toString()));
  const timer = setTimeout(() => child.kill('SIGKILL'), GENEROUS_MS);
  const ended = once(child, 'close').then(([code, signal]) => {
    clearTimeout(timer);
    return { said, code: code as number | null, signal: signal as string | null };
  });
  return { process: child, ended };
}

describe('closing a limiter whose source of policies', () => {
  const closed = { outcome: 'unconfigured', ended: 'closed', isStoreClosed: true };
  const unknown = { ...closed, outcome: 'unavailable' };
  const failed = { ...closed, ended: 'the source is broken' };

  it.each([
    ['unwatch throws', closed],
    ['unwatch rejects', closed],
    ['unwatch hangs', closed],
    ['unwatch is no function', closed],
    ['watch throws', closed],
    ['watch rejects', closed],
    ['watch hangs', closed],
    ['watch answers nothing', closed],
    ['close throws', failed],
    ['close rejects', failed],
    ['load throws', unknown],
    ['load rejects', unknown],
    ['load hangs', unknown],
  ])('misbehaves (%s): settles, closes the store, and leaves nothing behind', async (what, expected) => {
    const { said, ...end } = await start('source-ends.mjs', what).ended;

    expect(said).toBe(`${JSON.stringify(expected)}\n`);
    expect(end).toEqual({ code: 0, signal: null });
  });
});

describe('a process with a managed policy', () => {
  let server: RedisServer;
  beforeEach(async () => {
    server = await startRedis();
  });
  afterEach(async () => {
    await server.stop();
  });

  it.each([
    ['close', 'closed\n'],
    ['decide, close', 'unavailable\nclosed\n'],
    ['close at once', 'unavailable\nclosed\n'],
  ])('on a Redis that hangs from the start ends once its limiter is closed (%s)', async (what, said) => {
    server.pause();

    expect(await start('redis-ends.mjs', server.url, what).ended).toEqual({ said, code: 0, signal: null });
  });

  it.each([
    ['close', 'closed\n'],
    ['decide, close', 'unconfigured\nclosed\n'],
    ['close at once', 'unconfigured\nclosed\n'],
  ])('on a Redis that answers ends once its limiter is closed (%s)', async (what, said) => {
    expect(await start('redis-ends.mjs', server.url, what, PLENTY_MS).ended).toEqual({
      said,
      code: 0,
      signal: null,
    });
  });

  it.each([
    ['is there', () => Promise.resolve()],
    ['is gone', () => server.kill()],
    [
      'hangs',
      () => {
        server.pause();
        return Promise.resolve();
      },
    ],
  ])('whose client is disconnected while Redis %s ends, though its limiter was left open', async (_how, happens) => {
    const child = start('redis-ends.mjs', server.url, 'leave open', PLENTY_MS);
    await once(child.process.stdout, 'data');
    await happens();

    child.process.stdin.write('go\n');

    expect(await child.ended).toEqual({ said: 'unconfigured\n', code: 0, signal: null });
  });
});

describe('an edit and close() at once', () => {
  let proxy: TcpProxy;
  beforeEach(async () => {
    proxy = await startTcpProxy(redis.server);
  });
  afterEach(() => {
    proxy.close();
  });

  it.each([
    ['a managed policy', managed('orders')],
    ['a plain one', ten],
  ] as readonly (readonly [string, Policy | ManagedReference])[])(
    '%s: close waits for it, and it is done',
    async (_kind, policy) => {
      await policies().put('orders', ten, { apps });
      proxy.delay(100);
      const orders = createLimiter({
        name: 'orders',
        policy,
        ...(policy === ten ? {} : { app: 'checkout' }),
        store: redisStore(proxy.through(redis.server.url), { prefix: 'sluice' }),
        timeoutMs: 20_000,
      });

      const settled: string[] = [];
      const blocking = orders.block('ann', '1h').then(
        () => settled.push('block'),
        (error: unknown) => settled.push(String(error)),
      );
      await orders.close();
      settled.push('close');
      const outcome = (await limiter({ name: 'orders', policy }).peek('ann')).outcome;
      await blocking;

      expect(settled).toEqual(['block', 'close']);
      expect(outcome).toBe('blocked');
      await until('its connection is closed', () => proxy.connections === 0);
    },
  );
});
