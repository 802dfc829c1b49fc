import { once } from 'node:events';
import { createServer as createHttp, type IncomingMessage, type ServerResponse } from 'node:http';
import { connect as connectHttp2, createServer as createHttp2 } from 'node:http2';
import { connect, type AddressInfo, type Server } from 'node:net';
import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { byAll } from '@sluice/old-http';
import { createLimiter, fixedWindow, memoryStore, tokenBucket, type Store } from '@sluice/old-core';
import { createEnforcer, Enforcer, Layer, type Framework, type RawResponse } from '@sluice/old-http/spi';
import {
  fakeClock,
  memory,
  realRedis,
  testEnforcer,
  testFramework,
  TestResponse,
  type TestOptions,
  type TestRequest,
  nextTurn,
  watched,
} from '@sluice/testkit';

const HOUR_MS = 3_600_000;
const policy = fixedWindow({ limit: 5, window: '1h' });

describe.each([memory, realRedis()])('a refund over $kind', (stores) => {
  beforeAll(() => stores.open());
  afterAll(() => stores.close());

  /** An enforcer, and how many of five units are left to one who comes now. */
  const scene = (
    options: Partial<TestOptions>,
    clock = fakeClock(),
  ): { enforce: ReturnType<typeof testEnforcer>; left: () => Promise<number>; store: ReturnType<typeof watched> } => {
    const store = watched(stores.store(clock));
    const own = { policy, key: byAll(), store, shared: true, onStoreError: 'throw', timeoutMs: 10_000 } as const;
    const limiter = createLimiter({ policy, store, shared: true });
    return {
      store,
      enforce: testEnforcer({ ...own, ...options } as TestOptions),
      left: async () => {
        await store.quiet();
        return (await limiter.peek('*')).remaining;
      },
    };
  };

  it.each<[string, NonNullable<TestOptions['refund']>, number, number]>([
    ['on-success gives back for 200', 'on-success', 200, 5],
    ['on-success gives back for 304', 'on-success', 304, 5],
    ['on-success gives back for 399', 'on-success', 399, 5],
    ['on-success keeps for 400', 'on-success', 400, 4],
    ['on-success keeps for 500', 'on-success', 500, 4],
    ['on-failure keeps for 200', 'on-failure', 200, 4],
    ['on-failure keeps for 302', 'on-failure', 302, 4],
    ['on-failure gives back for 400', 'on-failure', 400, 5],
    ['on-failure gives back for 503', 'on-failure', 503, 5],
    ['an object with a rule does as the rule', { when: 'on-failure' }, 401, 5],
    ['a function says yes', (_request, { statusCode }) => statusCode === 402, 402, 5],
    ['a function says no', (_request, { statusCode }) => statusCode === 402, 200, 4],
    ['a function says yes later', () => Promise.resolve(true), 200, 5],
  ])('%s', async (_rule, refund, status, expected) => {
    const { enforce, left } = scene({ refund });
    const response = new TestResponse();

    await enforce({}, response);
    expect(await left()).toBe(4);
    response.finish(status);

    expect(await left()).toBe(expected);
  });

  it('gives back what was taken, whatever the cost', async () => {
    const { enforce, left } = scene({ refund: 'on-success', cost: 3 });
    const response = new TestResponse();

    await enforce({}, response);
    response.finish();

    expect(await left()).toBe(5);
  });

  it('happens once, however often the response ends', async () => {
    const { enforce, store, left } = scene({ refund: 'on-success' });
    const [first, second] = [new TestResponse(), new TestResponse()];
    await enforce({}, first);
    await enforce({}, second);

    first.finish();
    first.finish();
    await store.quiet();
    first.finish();

    expect(await left()).toBe(4);
  });

  it('gives nothing back when the response closes before it is finished', async () => {
    const { enforce, left } = scene({ refund: 'on-success' });
    const response = new TestResponse();
    await enforce({}, response);

    response.leave();
    response.finish();

    expect(await left()).toBe(4);
  });

  it('gives nothing back for a request that was denied', async () => {
    const { enforce, left } = scene({ refund: 'on-failure', cost: 5 });
    const denied = new TestResponse();
    await enforce({});

    expect((await enforce({}, denied)).denial?.status).toBe(429);
    denied.finish(429);

    expect(await left()).toBe(0);
  });

  it('never lands in a later window', async () => {
    const clock = fakeClock();
    const { enforce, left } = scene({ refund: 'on-success' }, clock);
    const slow = new TestResponse();
    await enforce({}, slow);

    clock.advance(HOUR_MS);
    await enforce();
    slow.finish();

    expect(await left()).toBe(4);
  });

  it('never invalidations a bucket above its capacity', async () => {
    const clock = fakeClock();
    const bucket = tokenBucket({ capacity: 5, refill: 5, every: '1s' });
    const store = watched(stores.store(clock));
    const own = { policy: bucket, key: byAll(), store, onStoreError: 'throw', timeoutMs: 10_000 } as const;
    const enforce = testEnforcer({ ...own, refund: 'on-success' });
    const slow = new TestResponse();
    await enforce({}, slow);

    clock.advance(60_000);
    slow.finish();
    await store.quiet();
    const answers = [];
    for (let i = 0; i < 6; i++) answers.push(await enforce());

    expect(answers.map(({ denial }) => denial?.status)).toEqual([...new Array<undefined>(5).fill(undefined), 429]);
  });

  it('gives back only under the layers that have a rule', async () => {
    const store = watched(stores.store(fakeClock()));
    const layer = (name: string, refund?: 'on-success'): Layer<TestRequest, TestResponse> =>
      new Layer<TestRequest, TestResponse>(
        { name, policy, key: byAll(), store, onStoreError: 'throw', timeoutMs: 10_000, ...(refund && { refund }) },
        testFramework,
      ).claim();
    const layers = [layer('app'), layer('login', 'on-success'), layer('route')];
    const enforcer = new Enforcer(layers, testFramework);
    const response = new TestResponse();

    await enforcer.enforce({}, response);
    response.finish();
    await store.quiet();

    const left = await Promise.all(layers.map(async ({ limiter }) => (await limiter.peek('*' as never)).remaining));
    expect(left).toEqual([4, 5, 4]);
  });
});

describe('a rule that throws', () => {
  afterEach(() => {
    jest.restoreAllMocks();
  });

  it('is a warning, once, rejects nothing, and leaves the rules of other layers alone', async () => {
    const rejections: unknown[] = [];
    const onRejection = (reason: unknown): number => rejections.push(reason);
    process.on('unhandledRejection', onRejection);
    const emitWarning = jest.spyOn(process, 'emitWarning').mockImplementation(() => undefined);
    const store = memoryStore();
    const layer = (name: string, refund: TestOptions['refund']): Layer<TestRequest, TestResponse> =>
      new Layer<TestRequest, TestResponse>({ name, policy, key: byAll(), store, refund }, testFramework).claim();
    const layers = [
      layer('sync', () => {
        throw new Error('no such column');
      }),
      layer('late', () => Promise.reject(new Error('no such table'))),
      layer('sound', 'on-success'),
    ];
    const enforcer = new Enforcer(layers, testFramework);
    const response = new TestResponse();

    await enforcer.enforce({}, response);
    response.finish();
    await nextTurn();
    process.off('unhandledRejection', onRejection);

    const left = await Promise.all(layers.map(async ({ limiter }) => (await limiter.peek('*' as never)).remaining));
    expect(left).toEqual([4, 4, 5]);
    expect(rejections).toEqual([]);
    expect(emitWarning).toHaveBeenCalledTimes(1);
    expect(emitWarning).toHaveBeenCalledWith(
      'units could not be given back: no such column',
      expect.objectContaining({ code: 'SLUICE_REFUND_FAILED' }),
    );
  });
});

describe('a rule that said no', () => {
  it('leaves it to the handler to give back later', async () => {
    const { enforcer, layer } = createEnforcer<TestRequest, TestResponse>(
      { policy, key: byAll(), refund: 'on-success' },
      testFramework,
    );
    const response = new TestResponse();
    const { info } = await enforcer.enforce({}, response);
    response.finish(500);
    await nextTurn();

    await layer.limiter.refund(info?.decision as NonNullable<typeof info>['decision']);

    expect((await layer.limiter.peek('*' as never)).remaining).toBe(5);
  });
});

/** A listener of Node's own servers, HTTP/1 or HTTP/2, with a limit in front of a handler. */
type Handler = (request: IncomingMessage, response: ServerResponse) => void;

function limited(
  handler: Handler,
  store: Store,
): { listener: Handler; left: () => Promise<number>; over: Promise<unknown> } {
  const framework = {
    ...testFramework,
    address: () => '192.0.2.1',
    method: () => 'GET',
    header: () => undefined,
    rawRequest: (request: object) => request,
    rawResponse: (response: RawResponse) => response,
  } as unknown as Framework<IncomingMessage, ServerResponse>;
  const { enforcer, layer } = createEnforcer<IncomingMessage, ServerResponse>(
    { policy, key: byAll(), store, refund: 'on-success' },
    framework,
  );
  let finished: (value: unknown) => void;
  const over = new Promise((resolve) => (finished = resolve));
  return {
    over,
    left: async () => (await layer.limiter.peek('*' as never)).remaining,
    listener: (request, response) => {
      response.once('close', () => setImmediate(finished));
      void Promise.resolve(enforcer.enforce(request, response)).then(() => {
        handler(request, response);
      });
    },
  };
}

const LARGE = Buffer.alloc(30_000_000);
const small: Handler = (_request, response) => response.end('ok');
const large: Handler = (_request, response) => response.end(LARGE);
const never: Handler = () => undefined;
const late: Handler = (_request, response) => {
  response.once('close', () => response.end('too late'));
};

describe.each(['keep-alive', 'close'])('over HTTP/1 with Connection: %s', (connection) => {
  it.each<[string, Handler, boolean, number]>([
    ['an answer that is handed over gives back', small, false, 5],
    ['a long answer that is handed over gives back', large, false, 5],
    ['a long answer that is cut off gives nothing back', large, true, 4],
    ['an answer that never came gives nothing back', never, true, 4],
    ['an answer that came too late gives nothing back', late, true, 4],
  ])('%s', async (_what, handler, leaves, expected) => {
    const { listener, left, over } = limited(handler, memoryStore());
    const { server, port } = await listening(createHttp(listener));
    const socket = connect(port, '127.0.0.1').on('error', () => undefined);

    socket.write(`GET / HTTP/1.1\r\nHost: a\r\nConnection: ${connection}\r\n\r\n`);
    if (leaves) await leaveOnceReached(server, () => socket.resetAndDestroy());
    else socket.resume();
    await over;

    expect(await left()).toBe(expected);
    socket.destroy();
    server.close();
  });
});

describe('over HTTP/2', () => {
  it.each<[string, Handler, boolean, number]>([
    ['an answer that is handed over gives back', small, false, 5],
    ['a long answer that is handed over gives back', large, false, 5],
    ['a long answer that is cut off gives nothing back', large, true, 4],
    ['an answer that never came gives nothing back', never, true, 4],
    ['an answer that came too late gives nothing back', late, true, 4],
  ])('%s', async (_what, handler, leaves, expected) => {
    const { listener, left, over } = limited(handler, memoryStore());
    const { server, port } = await listening(createHttp2(listener as never));
    const session = connectHttp2(`http://127.0.0.1:${String(port)}`);
    const stream = session.request({ ':path': '/' }).on('error', () => undefined);

    if (leaves)
      await leaveOnceReached(server, () => {
        stream.close(8);
      });
    else stream.resume();
    await over;

    expect(await left()).toBe(expected);
    session.destroy();
    server.close();
  });
});

async function listening(server: Server): Promise<{ server: Server; port: number }> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return { server, port: (server.address() as AddressInfo).port };
}

/** The handler has been called by then: a memory store decides in the same turn. */
async function leaveOnceReached(server: Server, leave: () => void): Promise<void> {
  await once(server, 'request');
  setImmediate(leave);
}
