import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import {
  StoreError,
  concurrency,
  createLimiter,
  fixedWindow,
  memoryStore,
  type Limiter,
  type Store,
  type StoreRequest,
} from '@sluice/old-core';
import { NO_RESPONSE, createEnforcer } from '@sluice/old-http/spi';
import {
  fakeClock,
  type FakeClock,
  testEnforcer,
  testFramework,
  TestResponse,
  type TestOptions,
  type TestRequest,
  nextTurn,
} from '@sluice/testkit';

const TTL_MS = 30_000;
const THIRD_MS = TTL_MS / 3;

// Time stands still unless a test moves it.
let clock: FakeClock;
const warnings: string[] = [];
jest.spyOn(process, 'emitWarning').mockImplementation((_message, options) => {
  warnings.push((options as { code: string }).code);
});
beforeEach(() => {
  clock = fakeClock();
  warnings.length = 0;
  jest.useFakeTimers({ doNotFake: ['setImmediate', 'nextTick', 'queueMicrotask', 'Date'] });
});
afterEach(() => {
  expect(jest.getTimerCount()).toBe(0);
  jest.useRealTimers();
});

const turns = async (): Promise<void> => {
  for (let i = 0; i < 10; i++) await nextTurn();
};
const pass = async (ms: number): Promise<void> => {
  for (let left = ms; left > 0; left -= 1000) {
    clock.advance(Math.min(left, 1000));
    await jest.advanceTimersByTimeAsync(Math.min(left, 1000));
  }
  await turns();
};

/** A memory that says what was asked of it, and fails at it while told to. */
class MoodyStore implements Store {
  readonly source = 'memory';
  readonly asked: StoreRequest['op'][] = [];
  failing: readonly StoreRequest['op'][] = [];
  closed = 0;
  #inner = memoryStore({ clock });

  perform(requests: readonly StoreRequest[]): ReturnType<Store['perform']> {
    this.asked.push(...requests.map(({ op }) => op));
    if (requests.some(({ op }) => this.failing.includes(op))) {
      throw new StoreError('SLUICE_STORE_FAILED', 'out of order');
    }
    return this.#inner.perform(requests);
  }

  forgetAll(): void {
    this.#inner = memoryStore({ clock });
  }

  async close(): Promise<void> {
    this.closed++;
    return Promise.resolve();
  }

  count(op: StoreRequest['op']): number {
    return this.asked.filter((asked) => asked === op).length;
  }
}

let names = 0;
const inFlight = concurrency({ limit: 1, ttl: TTL_MS });

/** As Node's own. */
interface TestSocket {
  destroyed: boolean;
  bytesWritten: number;
  writableLength: number;
  _handle: { writeQueueSize: number };
}

interface Scene {
  readonly store: MoodyStore;
  readonly limiter: Limiter;
  readonly free: () => Promise<number>;
  /** Answers the status of the denial, or else 200. */
  readonly visit: (response?: TestResponse, request?: TestRequest) => Promise<number>;
}

function scene(options: Partial<TestOptions> = {}): Scene {
  const store = new MoodyStore();
  // A name each: warnings come once for each.
  const limiter = createLimiter({ name: `slots${String(names++)}`, policy: inFlight, store, onStoreError: 'throw' });
  const enforce = testEnforcer({ limiter, key: () => 'all', ...options } as TestOptions);
  return {
    store,
    limiter,
    free: async () => (await limiter.peek('all')).remaining,
    visit: async (response, request) => (await enforce(request, response)).denial?.status ?? 200,
  };
}

describe('the slot of a request', () => {
  it('is released once, when the response ends', async () => {
    const { store, visit } = scene();
    const response = new TestResponse();

    const first = [await visit(response), await visit()];
    response.finish();
    response.emit('close');
    await turns();
    const next = new TestResponse();
    const second = await visit(next);
    next.leave();
    await turns();

    expect([...first, second]).toEqual([200, 429, 200]);
    expect(store.count('release')).toBe(2);
    expect([response, next].map((over) => over.listenerCount('close') + over.listenerCount('finish'))).toEqual([0, 0]);
  });

  it('is released when the socket closes, of a response that waits behind others and hears of nothing', async () => {
    const { visit, free } = scene();
    const response = new TestResponse();
    const closing: (() => void)[] = [];
    const socket = { destroyed: false, once: (_event: 'close', listener: () => void) => closing.push(listener) };

    await visit(response, { socket });
    const during = await free();
    for (const close of closing) close();
    await turns();

    expect([during, await free()]).toEqual([0, 1]);
    expect(response.listenerCount('close')).toBe(0);
  });

  it('is released at once when the client has left before it was decided', async () => {
    const { store, visit, free } = scene();
    const response = new TestResponse();
    response.destroyed = true;

    await visit(response);
    await turns();

    expect(await free()).toBe(1);
    expect(store.count('release')).toBe(1);
  });

  it('is renewed every third of its ttl, for as long as the response goes on', async () => {
    const { store, visit, free } = scene({ maxSlotMs: 200 * TTL_MS });
    const response = new TestResponse();
    await visit(response);

    await pass(THIRD_MS - 1000);
    const before = store.count('renew');
    await pass(1000);
    const one = store.count('renew');
    await pass(100 * TTL_MS);
    const status = await visit();
    const many = store.count('renew');
    response.finish();
    await pass(2 * TTL_MS);

    expect([before, one, many]).toEqual([0, 1, 301]);
    expect(status).toBe(429);
    expect(store.count('renew')).toBe(301);
    expect(await free()).toBe(1);
  });

  it.each<[string, (response: TestResponse) => void]>([
    ['was sent completely', (response) => (response.writableFinished = true)],
    ['is destroyed', (response) => (response.destroyed = true)],
    ['has a stream that is closed', (response) => (response.stream = { closed: true })],
    ['has a stream that is destroyed', (response) => (response.stream = { destroyed: true })],
    ['has a stream that was sent completely', (response) => (response.stream = { writableFinished: true })],
    ['has a session that is destroyed', (response) => (response.stream = { session: { destroyed: true } })],
  ])('is released instead of renewed, of a response that never says it closed but %s', async (_what, end) => {
    const { store, visit, free } = scene();
    const response = new TestResponse();
    await visit(response);

    end(response);
    await pass(THIRD_MS);

    expect([store.count('renew'), store.count('release'), await free()]).toEqual([0, 1, 1]);
    expect(warnings).toEqual([]);
  });

  it('is released when the socket of a response that says nothing is destroyed', async () => {
    const { visit, free } = scene();
    const socket = { destroyed: false };
    await visit(new TestResponse(), { socket });

    socket.destroyed = true;
    await pass(THIRD_MS);

    expect(await free()).toBe(1);
  });

  it('is held for maxSlotMs at most, ten minutes by default, and the release is told of once', async () => {
    const { store, visit, free } = scene();
    const responses = [new TestResponse(), new TestResponse()] as const;
    await visit(responses[0]);

    await pass(599_000);
    const before = await free();
    await pass(1000);
    const after = [await free(), store.count('release')];
    await visit(responses[1]);
    await pass(600_000);
    for (const response of responses) response.leave();
    await turns();

    expect([before, ...after, await free()]).toEqual([0, 1, 1, 1]);
    expect(store.count('release')).toBe(2);
    expect(warnings).toEqual(['SLUICE_SLOT_TIMEOUT']);
  });

  it.each<[string, (of: { writeQueueSize: number }) => object]>([
    ['', (handle) => handle],
    [' over TLS', (handle) => ({ _parent: handle })],
  ])('is released once the client has read nothing for three minutes of what waits for it%s', async (_where, of) => {
    const { store, visit, free } = scene();
    const handle = { writeQueueSize: 400 };
    const socket = { destroyed: false, bytesWritten: 1000, writableLength: 400, _handle: of(handle) };
    const response = new TestResponse();
    await visit(response, { socket });
    await pass(160_000);
    handle.writeQueueSize -= 300; // it has read something of the piece
    await pass(THIRD_MS);
    const read = await free();
    for (let i = 0; i < 8; i++) {
      socket.bytesWritten += 50; // the application goes on writing
      socket.writableLength += 50;
      await pass(THIRD_MS);
    }
    const before = await free();
    await pass(180_000 - 8 * THIRD_MS);
    const after = await free();
    response.finish();
    await turns();

    expect([read, before, after, await free()]).toEqual([0, 0, 1, 1]);
    expect(store.count('release')).toBe(1);
    expect(warnings).toEqual(['SLUICE_SLOT_TIMEOUT']);
  });

  it.each<[string, (socket: TestSocket) => void]>([
    ['nothing waits for the client', (socket) => (socket.writableLength = socket._handle.writeQueueSize = 0)],
    ['the system takes a piece', (socket) => socket._handle.writeQueueSize--],
    ['pieces leave', (socket) => (socket.bytesWritten += 400)],
    ['what waits is not known', (socket) => (socket._handle = { writeQueueSize: Number.NaN })],
  ])('is held while %s', async (_why, change) => {
    const { visit, free } = scene();
    const socket: TestSocket = {
      ...{ destroyed: false, bytesWritten: 1000, writableLength: 400 },
      _handle: { writeQueueSize: 400 },
    };
    const response = new TestResponse();
    await visit(response, { socket });
    for (let i = 0; i < 9; i++) {
      change(socket);
      await pass(60_000);
    }
    const held = await free();
    response.finish();
    await turns();

    expect([held, await free()]).toEqual([0, 1]);
    expect(warnings).toEqual([]);
  });

  it('is held for less than a third of its ttl when maxSlotMs is shorter', async () => {
    const { visit, free } = scene({ maxSlotMs: 2000 });
    await visit();

    await pass(1000);
    const before = await free();
    await pass(1000);

    expect([before, await free()]).toEqual([0, 1]);
  });

  it('outlives a renewal that fails', async () => {
    const { store, visit } = scene();
    const response = new TestResponse();
    await visit(response);
    await pass(THIRD_MS);

    store.failing = ['renew'];
    await pass(THIRD_MS);
    store.failing = [];
    await pass(3 * TTL_MS);

    expect(await visit()).toBe(429);
    expect(warnings).toEqual([]);
    response.leave();
  });

  it('that is lost is told of once, while the request goes on', async () => {
    const { store, visit } = scene();
    const response = new TestResponse();
    await visit(response);

    store.forgetAll();
    await pass(TTL_MS);
    const other = new TestResponse();
    const status = await visit(other);
    response.leave();
    await turns();

    expect(warnings).toEqual(['SLUICE_SLOT_LOST']);
    expect([status, await visit()]).toEqual([200, 429]); // the release frees no slot of another request
    other.leave();
  });

  it('that cannot be released is released a second later', async () => {
    const { store, visit, free } = scene();
    const response = new TestResponse();
    await visit(response);

    store.failing = ['release'];
    response.leave();
    await turns();
    store.failing = [];
    const during = await free();
    await pass(1000);

    expect([during, await free()]).toEqual([0, 1]);
    expect(warnings).toEqual([]);
  });

  it('that cannot be released at all is free when its ttl expires', async () => {
    const { store, visit, free } = scene();
    const response = new TestResponse();
    await visit(response);

    store.failing = ['release'];
    response.leave();
    await pass(TTL_MS - 1000);
    const before = await free();
    await pass(1000);

    expect([before, await free()]).toEqual([0, 1]);
    expect(warnings).toEqual(['SLUICE_RELEASE_FAILED']);
    expect(store.count('release')).toBe(2);
  });

  it('is released after its limiter was closed, and only then is the store let go', async () => {
    const { store, limiter, visit } = scene();
    const response = new TestResponse();
    await visit(response);

    await limiter.close();
    const before = store.closed;
    await pass(TTL_MS);
    response.leave();
    await turns();

    expect(before).toBe(0);
    expect(store.count('renew')).toBe(3);
    expect([store.count('release'), store.closed]).toEqual([1, 1]);
    expect(warnings).toEqual([]);
  });

  it('keeps the store open when another limiter on it is closed', async () => {
    const { store, limiter, visit } = scene();
    const other = createLimiter({ name: 'other', policy: fixedWindow({ limit: 1, window: 1000 }), store });
    const response = new TestResponse();
    await visit(response);

    await Promise.all([limiter.close(), other.close()]);
    const before = store.closed;
    response.leave();
    await turns();

    expect([before, store.closed]).toEqual([0, 1]);
  });

  it('is not held where there is no response, and so no end', async () => {
    const store = new MoodyStore();
    const { enforcer } = createEnforcer<TestRequest, TestResponse>(
      { name: 'nowhere', policy: inFlight, store, key: () => 'all' },
      { ...testFramework, rawResponse: () => NO_RESPONSE },
    );

    const visits = [1, 2].map(async () => enforcer.enforce({}, new TestResponse()));

    for (const visit of visits) await expect(visit).rejects.toMatchObject({ code: 'SLUICE_ACQUIRE_NEEDED' });
    expect(store.count('release')).toBe(2);
  });
});

describe('the fields of a limit that holds slots', () => {
  const calls = fixedWindow({ name: 'calls', limit: 1, window: '60s' });
  const slots = concurrency({ name: 'in-flight', limit: 1, ttl: '30s' });
  const fieldsOf = async (options: Partial<TestOptions>, count = 2): Promise<string[]> => {
    const enforce = testEnforcer({ store: memoryStore({ clock }), key: () => 'all', ...options } as TestOptions);
    const responses = Array.from({ length: count }, () => new TestResponse());
    let last: string[] = [];
    for (const response of responses) {
      const { fields, denial } = await enforce({}, response);
      last = [...fields, ...(denial?.fields ?? [])].map(({ name, value }) => `${name}: ${value}`);
    }
    for (const response of responses) response.leave();
    await turns();
    return last;
  };

  it.each<[string, TestOptions['headers'], string[]]>([
    [
      'draft-11',
      'draft-11',
      ['RateLimit-Policy: "in-flight";q=1;qu="concurrent-requests"', 'RateLimit: "in-flight";r=0'],
    ],
    [
      'draft-7',
      'draft-7',
      ['RateLimit-Policy: 1;comment="concurrent-requests"', 'RateLimit: limit=1, remaining=0, reset=30'],
    ],
    [
      'draft-6',
      'draft-6',
      [
        'RateLimit-Limit: 1',
        'RateLimit-Remaining: 0',
        'RateLimit-Reset: 30',
        'RateLimit-Policy: 1;comment="concurrent-requests"',
      ],
    ],
    ['legacy', { legacy: 'delta' }, ['X-RateLimit-Limit: 1', 'X-RateLimit-Remaining: 0', 'X-RateLimit-Reset: 30']],
  ])('of a denial in %s name no wait', async (_format, headers, expected) => {
    expect(await fieldsOf({ policy: slots, ...(headers === undefined ? {} : { headers }) })).toEqual([
      ...expected,
      'Cache-Control: no-store',
    ]);
  });

  it.each<[string, Partial<TestOptions>, string | undefined]>([
    ['none where a slot is wanting', { policy: slots }, undefined],
    ['what the application says where a slot is wanting', { policy: slots, retryAfter: '1500ms' }, '2'],
    ['that of a window that denies as well', { policy: [calls, slots] }, '60'],
    ['the longer one of a window and what the application says', { policy: [calls, slots], retryAfter: '2m' }, '120'],
    ['none where it costs more slots than there are', { policy: slots, cost: 2, retryAfter: '1s' }, undefined],
    ['that of the window alone', { policy: [calls, { ...slots, limit: 9 }], retryAfter: '2m' }, '60'],
  ])('carry as Retry-After %s', async (_what, options, expected) => {
    const fields = await fieldsOf({ headers: false, ...options });

    const retryAfter = fields.find((field) => field.startsWith('Retry-After: '));
    expect(retryAfter).toBe(expected === undefined ? undefined : `Retry-After: ${expected}`);
    expect(fields).toContain('Cache-Control: no-store');
  });

  it('of a key that is blocked say for how long', async () => {
    const store = memoryStore({ clock });
    const limiter = createLimiter({ name: 'blocked', policy: slots, store });
    const enforce = testEnforcer({ limiter, key: () => 'all' });
    await limiter.block('all', '90s');

    const { fields, denial } = await enforce();

    expect(fields.at(-1)?.value).toBe('"in-flight";r=0;t=90');
    expect(denial?.fields.find(({ name }) => name === 'Retry-After')?.value).toBe('90');
  });

  it.each([0, -1, 'soon', null])('deny %p as retryAfter', (retryAfter) => {
    expect(() => testEnforcer({ policy: slots, retryAfter } as unknown as TestOptions)).toThrow('retryAfter');
  });
});
