import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { connect } from 'node:net';
import { createLimiter, fixedWindow, memoryStore, type Limiter, type Store } from '@sluice/old-core';
import { limitToJson, FRAME, writeFrame } from '@sluice/remote/wire';
import { remoteStore, type RemoteStore } from '@sluice/remote';
import { cases, seeded, testSeed, until, type Random } from '@sluice/testkit';
import { NO_HELLO, rawClient, rawLimit, welcomedClient } from './raw-client.ts';
import { listenForFrames, serviceOf, type FrameListener } from './service.ts';

let listening: FrameListener;
let good: RemoteStore;
let limiter: Limiter;
let served = 0;

beforeAll(async () => {
  listening = await listenForFrames(serviceOf(memoryStore()));
  good = remoteStore(listening.url);
  limiter = createLimiter({
    policy: fixedWindow({ limit: 1_000, window: '1h' }),
    store: good,
    onStoreError: 'throw',
    timeoutMs: 10_000,
  });
  await good.ready();
});
afterEach(async () => {
  expect(await limiter.consume('a good client')).toMatchObject({ allowed: true, used: ++served });
  await until('only the good client is connected', () => listening.connections.size === 1);
});
afterAll(async () => {
  await limiter.close();
  await listening.close();
});

const hello = writeFrame(FRAME.hello, 0, '{"protocol":2}');
const consume = (id: number): Buffer => writeFrame(FRAME.perform, id, '[100,["consume",[[0,"key",1]]]]');
const valid: readonly Buffer[] = [
  hello,
  writeFrame(FRAME.limit, 0, JSON.stringify(limitToJson(rawLimit))),
  consume(1),
  writeFrame(FRAME.batch, 2, '[100,0,"key",0,0,"other",[1,2,3,4]]'),
  writeFrame(FRAME.perform, 3, '[null,["refund",[0,"key",1],[1795262400250],5],["block",[0,"x",0],50,1]]'),
  writeFrame(FRAME.forget, 0, ''),
  writeFrame(FRAME.ping, 4, ''),
];

function mutated(random: Random): Buffer {
  const frames = valid.filter(() => random.percent(85));
  const bytes = Buffer.concat(random.percent(60) ? [hello, ...frames] : frames);
  for (let i = random.integer(0, 4); i > 0 && bytes.length > 0; i--) {
    bytes[random.integer(random.percent(70) ? hello.length : 0, bytes.length - 1)] = random.integer(0, 255);
  }
  return random.percent(20) ? bytes.subarray(0, random.integer(0, bytes.length)) : bytes;
}

describe('a listener', () => {
  it('outlives thousands of mutated frames, and serves others meanwhile', async () => {
    const random = seeded(testSeed(8));

    for (let i = 0; i < cases(1_600); i++) {
      const socket = connect(listening.port, '127.0.0.1');
      socket.on('error', () => undefined);
      socket.resume();
      const closed = new Promise((resolve) => socket.once('close', resolve));
      socket.end(mutated(random));
      if (i % 50 === 0) expect(await limiter.consume('a good client')).toMatchObject({ used: ++served });
      if (i % 8 === 0) await closed;
    }
  });

  it.each([
    ['another protocol', 'GET / HTTP/1.1\r\nHost: x\r\n\r\n'],
    ['a call before the hello', consume(1)],
    ['a frame of a gigabyte', Buffer.from([64, 0, 0, 0, 1, 0, 0, 0, 0])],
    [
      'a hello of a megabyte',
      writeFrame(FRAME.hello, 0, JSON.stringify({ protocol: 2, token: 'x'.repeat(1_000_000) })),
    ],
    ['two hellos', Buffer.concat([hello, hello])],
    ['no JSON', Buffer.concat([hello, writeFrame(FRAME.perform, 1, '[')])],
    ['a type that is none', Buffer.concat([hello, writeFrame(99 as 1, 1, '')])],
    ['a limit that was not named', Buffer.concat([hello, consume(1)])],
    ['limits out of order', Buffer.concat([hello, writeFrame(FRAME.limit, 7, '{}')])],
    ['deep JSON', Buffer.concat([hello, writeFrame(FRAME.limit, 0, '['.repeat(1_000_000))])],
  ])('closes a connection that sends %s, and says why', async (_what, bytes) => {
    const client = await rawClient(listening.port, NO_HELLO);
    client.socket.write(bytes);

    expect(await client.next(FRAME.rejected)).toMatchObject({
      code: 'SLUICE_STORE_FAILED',
      message: expect.stringContaining('the server closes the connection: '),
    });
    await client.closed;
  });

  it.each([
    ['an empty call', [null]],
    ['an unknown operation', [null, ['drop', [0, 'key', 0]]]],
    ['a cost below 0', [null, ['consume', [[0, 'key', -1]]]]],
    ['a cost that is no number', [null, ['consume', [[0, 'key', '1']]]]],
    ['an empty key', [null, ['consume', [[0, '', 1]]]]],
    ['a key without end', [null, ['consume', [[0, 'x'.repeat(513), 1]]]]],
    ['a holder that is no number', [null, ['release', [0, 'key', 1, '1 OR 1']]]],
    ['a release without a holder', [null, ['release', [0, 'key', 1]]]],
    ['windows of other policies', [null, ['refund', [0, 'key', 1], [1, 2]]]],
    ['a block without end', [null, ['block', [0, 'key', 0], 2 ** 52]]],
    ['more time than a timer can wait', [2 ** 40, ['peek', [[0, 'key', 0]]]]],
    ['1025 requests', [null, ...Array<unknown>(1025).fill(['peek', [[0, 'key', 0]]])]],
  ])('closes a connection whose call has %s', async (_what, call) => {
    const client = await welcomedClient(listening.port);
    client.send(FRAME.perform, 1, call);

    await client.next(FRAME.rejected);
    await client.closed;
  });

  it.each([
    ['no key', [null]],
    ['half a key', [null, 0, 'key']],
    ['runs of an odd number', [null, 0, 'key', [1]]],
    ['a run of no requests', [null, 0, 'key', [1, 0]]],
    ['a run of a cost of 0', [null, 0, 'key', [0, 1]]],
    ['too many requests in its runs', [null, 0, 'key', [1, 262_145]]],
    ['too many keys', [null, ...Array.from({ length: 513 }, (_, i) => [0, String(i), 0]).flat()]],
    ['the same key twice', [null, 0, 'key', 0, 0, 'key', 0]],
  ])('closes a connection whose batch has %s', async (_what, call) => {
    const client = await welcomedClient(listening.port);
    client.send(FRAME.batch, 1, call);

    await client.next(FRAME.rejected);
    await client.closed;
  });

  it('fails the calls of a limit that it cannot count, and no others', async () => {
    const client = await welcomedClient(listening.port);
    client.send(FRAME.limit, 1, { ...limitToJson(rawLimit), keySuffix: ':raw:9f' });
    client.send(FRAME.perform, 1, [null, ['peek', [[1, 'key', 0]]], ['peek', [[0, 'key', 0]]]]);
    client.send(FRAME.batch, 2, [null, 1, 'a', 0, 0, 'b', 0]);
    client.send(FRAME.batch, 3, [null, 1, 'a', 0]);

    const failure = {
      code: 'SLUICE_STORE_FAILED',
      message: expect.stringContaining('the server cannot count this limit'),
    };
    expect(await client.next(FRAME.answers)).toMatchObject([failure, [expect.any(Number), expect.any(Array)]]);
    expect(await client.next(FRAME.batchAnswer)).toMatchObject([expect.any(Number), failure, '']);
    expect(await client.next(FRAME.failed)).toMatchObject(failure);
    client.socket.destroy();
  });

  it('ends connections that say nothing, or half of a hello', async () => {
    const silent = await rawClient(listening.port, NO_HELLO);
    const half = await rawClient(listening.port, NO_HELLO);
    half.socket.write(hello.subarray(0, 12));

    await Promise.all([silent.closed, half.closed]);
  });

  it('stops reading a client that reads no answers, and serves others', async () => {
    const client = await welcomedClient(listening.port);
    client.socket.pause();
    const call = Buffer.concat(Array.from({ length: 1_000 }, (_, i) => consume(i + 1)));
    let writes = 0;
    while (client.socket.writableLength < 8 * 1_048_576) {
      client.socket.write(call);
      writes++;
      await new Promise((resolve) => setImmediate(resolve));
      expect(writes).toBeLessThan(10_000);
    }

    expect(await limiter.consume('a good client')).toMatchObject({ used: ++served });
    const [, unread] = [...listening.connections];
    expect(unread?.writableLength).toBeLessThan(4 * 1_048_576);
    await client.closed;
  });
});

describe('a listener whose store does not answer', () => {
  it('reads no more than it can hold', async () => {
    const waiting: (() => void)[] = [];
    const hung: Store = {
      source: 'redis',
      perform: (requests) =>
        new Promise((resolve) => {
          waiting.push(() => {
            resolve(requests.map(() => ({ atMs: 1, parts: [] })));
          });
        }),
    };
    const other = await listenForFrames(serviceOf(hung));
    const client = await welcomedClient(other.port);
    const sent = 40_000;
    for (let i = 1; i <= sent; i++) client.send(FRAME.perform, i, [null, ['reset', [0, 'key', 0]]]);

    await until('it has stopped reading', () => [...other.connections][0]?.isPaused());
    await until('all are answered', () => {
      for (const answer of waiting.splice(0)) answer();
      return client.frames.filter(({ type }) => type === FRAME.answers).length === sent;
    });
    client.socket.destroy();
    await other.close();
  });
});
