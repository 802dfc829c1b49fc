import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { EventEmitter } from 'node:events';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { byAll, byUser, type ResponsePlan } from '@sluice/old-http';
import {
  fixedWindow,
  leakyBucket,
  memoryStore,
  silenceWarnings,
  type Clock,
  type Decision,
  type Store,
} from '@sluice/old-core';
import { createEnforcer, Enforcer, Layer } from '@sluice/old-http/spi';
import { testFramework, TestResponse, type TestOptions, type TestRequest, nextTurn, watched } from '@sluice/testkit';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const tenPerSecond = leakyBucket({ limit: 10, window: '1s', maxDelay: '1s' });
const window = fixedWindow({ limit: 100, window: '1d' });

/** Goes with the timers. */
const clock: Clock = { now: () => 1_795_262_400_000 + performance.now() };

// Time stands still unless a test moves it.
beforeEach(() => {
  jest.useFakeTimers({ doNotFake: ['setImmediate', 'nextTick', 'queueMicrotask', 'Date'] });
});
afterEach(() => {
  expect(jest.getTimerCount()).toBe(0);
  jest.useRealTimers();
});

const turns = async (count = 10): Promise<void> => {
  for (let i = 0; i < count; i++) await nextTurn();
};
const pass = async (ms: number): Promise<void> => {
  await jest.advanceTimersByTimeAsync(ms);
  await turns();
};

/** A request that has been sent, and what became of it. */
interface Visit {
  readonly response: TestResponse;
  answer: ResponsePlan<TestRequest, TestResponse> | undefined;
  error: unknown;
}

interface Scene {
  readonly layer: Layer<TestRequest, TestResponse>;
  readonly visit: (request?: TestRequest) => Visit;
  readonly visits: (count: number, request?: TestRequest) => Visit[];
}

function sceneOf(enforcer: Enforcer<TestRequest, TestResponse>, layer: Layer<TestRequest, TestResponse>): Scene {
  const visit = (request: TestRequest = {}): Visit => {
    const visit: Visit = { response: new TestResponse(), answer: undefined, error: undefined };
    Promise.resolve(enforcer.enforce({ ...request }, visit.response)).then(
      (answer) => (visit.answer = answer),
      (error: unknown) => (visit.error = error),
    );
    return visit;
  };
  return { layer, visit, visits: (count, request) => Array.from({ length: count }, () => visit(request)) };
}

function optionsOf(options: Partial<TestOptions>): TestOptions {
  return { policy: tenPerSecond, key: byAll(), store: memoryStore({ clock }), ...options } as TestOptions;
}

function scene(options: Partial<TestOptions> = {}): Scene {
  const { enforcer, layer } = createEnforcer(optionsOf(options), testFramework);
  return sceneOf(enforcer, layer);
}

function sceneOfLayers(options: readonly Partial<TestOptions>[]): Scene {
  const store = memoryStore({ clock });
  const layers = options.map((own) =>
    new Layer(optionsOf({ store, ...own } as Partial<TestOptions>), testFramework).claim(),
  );
  return sceneOf(new Enforcer(layers, testFramework), layers.at(-1) as Scene['layer']);
}

const fate = ({ answer, error }: Visit): string =>
  error !== undefined
    ? 'failed'
    : answer === undefined
      ? 'rests'
      : answer.isGone === true
        ? 'left'
        : answer.denial === undefined
          ? 'runs'
          : String(answer.denial.status);
const fates = (visits: readonly Visit[]): string[] => visits.map(fate);
const remaining = async ({ layer }: Scene): Promise<number> => (await layer.limiter.peek('*' as never)).remaining;

describe('a request that is allowed with a delay', () => {
  it('rests for it, and not a millisecond less', async () => {
    const all = scene().visits(3);
    await turns();

    expect(fates(all)).toEqual(['runs', 'rests', 'rests']);
    await pass(99);
    expect(fates(all)).toEqual(['runs', 'rests', 'rests']);
    await pass(1);
    expect(fates(all)).toEqual(['runs', 'runs', 'rests']);
    await pass(100);
    expect(fates(all)).toEqual(['runs', 'runs', 'runs']);
  });

  it('does not start when its timer fires too early', async () => {
    jest.useRealTimers();
    jest.useFakeTimers({ doNotFake: ['setImmediate', 'nextTick', 'queueMicrotask', 'Date', 'performance'] });
    const policy = leakyBucket({ limit: 1, window: '1h', maxDelay: '1h' });
    const [, second] = scene({ policy, store: memoryStore({ clock: { now: () => 0 } }) }).visits(2) as [Visit, Visit];
    await turns();

    await pass(HOUR_MS); // of the timers alone

    expect(fate(second)).toBe('rests');
    expect(jest.getTimerCount()).toBe(1);
    second.response.leave();
  });

  it('rests for longer than a timer can be set', async () => {
    const set = jest.spyOn(globalThis, 'setTimeout');
    const policy = leakyBucket({ limit: 1, window: '60d', maxDelay: '60d' });
    const [, second] = scene({ policy }).visits(2) as [Visit, Visit];
    await turns();

    await pass(60 * DAY_MS - 1);
    expect(fate(second)).toBe('rests');
    await pass(1);

    expect(fate(second)).toBe('runs');
    expect(set.mock.calls.filter(([, ms = 0]) => ms >= 2 ** 31)).toEqual([]);
  });

  it('rests from when its decision came, however long the application listens to that', async () => {
    const onDecision = async (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 60));
    const [first, second] = scene({ onDecision }).visits(2) as [Visit, Visit];
    await pass(60);
    expect(fates([first, second])).toEqual(['runs', 'rests']);

    await pass(40);

    expect(fate(second)).toBe('runs');
  });

  it('is told of when it is decided, with the delay', async () => {
    const delays: number[] = [];
    scene({ onDecision: ({ delayMs }: Decision) => delays.push(delayMs) }).visits(3);
    await turns();

    expect(delays).toEqual([0, 100, 200]);
    await pass(200);
  });

  it('carries the fields of its decision', async () => {
    const [, second] = scene().visits(2) as [Visit, Visit];
    await pass(100);

    expect(second.answer?.fields.map(({ value }) => value)).toEqual(['"default";q=11;w=1', '"default";r=9;t=1']);
    expect(second.answer?.info?.decision.delayMs).toBe(100);
  });

  it('rests for the longest of several delays', async () => {
    const slow = leakyBucket({ name: 'slow', limit: 1, window: '1s', maxDelay: '5s' });
    const fast = leakyBucket({ name: 'fast', limit: 10, window: '1s', maxDelay: '5s' });
    const all = scene({ policy: [fast, slow, { ...window, name: 'window' }] }).visits(2);
    await pass(999);
    expect(fates(all)).toEqual(['runs', 'rests']);

    await pass(1);

    expect(fates(all)).toEqual(['runs', 'runs']);
  });

  it('rests for the longest delay of several layers', async () => {
    const all = sceneOfLayers([
      { name: 'outer', policy: leakyBucket({ limit: 1, window: '1s', maxDelay: '5s' }) },
      { name: 'inner', policy: window },
    ]).visits(2);
    await pass(999);
    expect(fates(all)).toEqual(['runs', 'rests']);

    await pass(1);

    expect(fates(all)).toEqual(['runs', 'runs']);
  });

  it('rests by itself: other keys start at once', async () => {
    const { visit } = scene({ key: byUser() });
    const all = [visit({ user: 'ann' }), visit({ user: 'ann' }), visit({ user: 'bob' })];
    await turns();

    expect(fates(all)).toEqual(['runs', 'rests', 'runs']);
    await pass(100);
  });

  it('never rests for a limit that only reports', async () => {
    const alone = scene({ mode: 'report' }).visits(3);
    const beside = sceneOfLayers([
      { name: 'enforced', policy: window },
      { name: 'reported', mode: 'report' },
    ]).visits(3);
    await turns();

    expect(fates([...alone, ...beside])).toEqual(new Array(6).fill('runs'));
  });

  it('starts all the same when its limiter is closed meanwhile', async () => {
    const { visits, layer } = scene();
    const all = visits(2);
    await turns();

    await layer.core.close();
    await pass(100);

    expect(fates(all)).toEqual(['runs', 'runs']);
  });
});

describe('a client that leaves while its request rests', () => {
  it('takes its timer with it, and its place where that is the last', async () => {
    const paced = scene();
    const all = paced.visits(4);
    await turns();
    expect(await remaining(paced)).toBe(7);

    all[3]?.response.leave();
    await turns();

    expect(fates(all)).toEqual(['runs', 'rests', 'rests', 'left']);
    expect(await remaining(paced)).toBe(8);

    all[1]?.response.leave(); // the one that the timer is for
    await pass(199);
    expect(fates(all)).toEqual(['runs', 'left', 'rests', 'left']);
    await pass(1);
    expect(fates(all)).toEqual(['runs', 'left', 'runs', 'left']);
  });

  it('takes the last timer with it', async () => {
    const paced = scene();
    const all = paced.visits(3);
    await turns();
    expect(jest.getTimerCount()).toBe(1);

    for (const { response } of all) response.leave();

    expect(jest.getTimerCount()).toBe(0);
  });

  it('moves no request that waits behind it', async () => {
    const paced = scene();
    const all = paced.visits(3);
    await turns();

    all[1]?.response.leave();
    await pass(199);
    expect(fates(all)).toEqual(['runs', 'left', 'rests']);
    await pass(1);

    expect(fate(all[2] as Visit)).toBe('runs');
  });

  it('leaves what it took of policies that only count', async () => {
    const policy = [
      { ...window, name: 'window' },
      { ...tenPerSecond, name: 'pace' },
    ];
    const { visits, layer } = scene({ policy });
    const [, second] = visits(2) as [Visit, Visit];
    await turns();

    second.response.leave();
    await turns();
    const { policies } = await layer.limiter.peek('*' as never);

    expect(policies.map(({ name, remaining }) => [name, remaining])).toEqual([
      ['window', 98],
      ['pace', 10],
    ]);
  });

  it('gives its place up when it leaves while the store is asked', async () => {
    const slow = slowStore();
    const { visit } = scene({ store: slow.store, timeoutMs: 60_000 });
    const first = visit();
    await slow.answer();
    const second = visit();

    second.response.leave();
    await slow.answer();
    await slow.answer();
    const third = visit();
    await slow.answer();

    expect(fates([first, second, third])).toEqual(['runs', 'left', 'rests']);
    await pass(100);
    expect(fate(third)).toBe('runs');
  });

  it('leaves no listeners behind, and neither does one that starts', async () => {
    const { visits } = scene();
    const [, second, third] = visits(3) as [Visit, Visit, Visit];
    await turns();

    third.response.leave();
    await pass(100);

    expect([second, third].map(({ response }) => response.eventNames())).toEqual([[], []]);
  });

  it('is heard of by requests that are pipelined, with one listener on their socket', async () => {
    const socket = new EventEmitter();
    const all = scene().visits(11, { socket });
    await turns();
    const listeners = socket.listenerCount('close');

    socket.emit('close');
    await turns();

    expect(listeners).toBe(1);
    expect(fates(all)).toEqual(['runs', ...new Array<string>(10).fill('left')]);
  });

  it('is no error when the limiter is closed by then', async () => {
    silenceWarnings('SLUICE_REFUND_FAILED');
    const { visits, layer } = scene();
    const [, second] = visits(2) as [Visit, Visit];
    await turns();

    await layer.core.close();
    second.response.leave();
    await turns();

    expect(fate(second)).toBe('left');
  });
});

describe('a request whose onDecision throws', () => {
  it('fails, and its place is free again', async () => {
    const paced = scene({
      onDecision: ({ delayMs }: Decision) => {
        if (delayMs > 0) throw new Error('broken');
      },
    });

    const all = paced.visits(2);
    await turns();

    expect(fates(all)).toEqual(['runs', 'failed']);
    expect(await remaining(paced)).toBe(10);
  });
});

describe('the bound of requests that are held', () => {
  it('denies one more at once, and takes nothing', async () => {
    const store = watched(memoryStore({ clock }));
    const paced = scene({
      maxPaced: 2,
      policy: [
        { ...tenPerSecond, name: 'pace' },
        { ...window, name: 'window' },
      ],
      store,
    });

    const all = paced.visits(5);
    await turns();

    expect(fates(all)).toEqual(['runs', 'rests', 'rests', '429', '429']);
    expect(store.calls.map(([request]) => request?.op)).toEqual(['consume', 'consume', 'consume', 'peek', 'peek']);
    const { policies } = await paced.layer.limiter.peek('*' as never);
    expect(policies.map((policy) => policy.remaining)).toEqual([8, 97]);
    await pass(200);
  });

  it('says when to come again, and which policy it was', async () => {
    const told: Decision[] = [];
    const policy = [
      { ...tenPerSecond, name: 'pace' },
      { ...window, name: 'window' },
    ];
    const { visits } = scene({ maxPaced: 0, policy, onDecision: (decision: Decision) => told.push(decision) });

    const [, second] = visits(2) as [Visit, Visit];
    await turns();

    expect(told[1]).toMatchObject({
      allowed: false,
      outcome: 'denied',
      policy: 'pace',
      retryAfterMs: 100,
      delayMs: 0,
      policies: [
        { name: 'pace', allowed: false, remaining: 0, retryAfterMs: 100, nextAfterMs: 100, delayMs: 0 },
        { name: 'window', allowed: true, remaining: 99, retryAfterMs: 0 },
      ],
    });
    expect(second.answer?.denial?.fields).toContainEqual({ name: 'Retry-After', value: '1', append: false });
    expect(second.answer?.denial?.body).toContain('"violated-policies":["pace"]');
  });

  it('is published to code that listens to decisions, as a denial', async () => {
    const heard: unknown[] = [];
    const listen = (message: unknown): void => {
      const { op, decision } = message as { readonly op: string; readonly decision: Decision };
      if (op === 'consume') heard.push(decision.outcome);
    };
    subscribe('sluice:decision', listen);
    scene({ maxPaced: 0 }).visits(2);
    await turns();
    unsubscribe('sluice:decision', listen);

    expect(heard).toEqual(['allowed', 'denied']);
  });

  it('delays no request that need not wait', async () => {
    const { visit } = scene({ maxPaced: 1, key: byUser() });
    const all = [visit({ user: 'ann' }), visit({ user: 'ann' }), visit({ user: 'ann' }), visit({ user: 'bob' })];
    await turns();

    expect(fates(all)).toEqual(['runs', 'rests', '429', 'runs']);
    await pass(100);
  });

  it('leaves room for other keys, however many requests one key sends', async () => {
    const { visit, visits } = scene({ maxPaced: 10, key: byUser(), policy: { ...tenPerSecond, maxDelayMs: 5_000 } });
    const ofAnn = visits(30, { user: 'ann' });
    await turns();
    const ofBob = [visit({ user: 'bob' }), visit({ user: 'bob' })];
    const ofCid = [visit({ user: 'cid' }), visit({ user: 'cid' })];
    await turns();

    expect(fates([...ofBob, ...ofCid])).toEqual(['runs', 'rests', 'runs', 'rests']);
    expect(fates(ofAnn).filter((what) => what === 'rests')).toHaveLength(6);
    await pass(600);
    expect(fates(ofAnn).filter((what) => what === 'runs')).toHaveLength(7);
  });

  it('leaves room for other clients where an outer key is the same for all', async () => {
    const limits = [
      { name: 'all', policy: { ...tenPerSecond, maxDelayMs: 5_000 }, key: byAll<TestRequest>() },
      { name: 'each', policy: window, key: byUser<TestRequest>() },
    ];
    const { visits } = scene({ maxPaced: 10, limits, policy: undefined, key: undefined } as Partial<TestOptions>);
    visits(30, { user: 'ann' });
    await turns();
    const [ofBob] = visits(1, { user: 'bob' }) as [Visit];
    await turns();

    expect(fate(ofBob)).toBe('rests');
    await pass(1_000);
  });

  it('is all for the one key of byAll', async () => {
    const all = scene({ maxPaced: 10, policy: { ...tenPerSecond, maxDelayMs: 5_000 } }).visits(12);
    await turns();

    expect(fates(all)).toEqual(['runs', ...new Array<string>(10).fill('rests'), '429']);
    await pass(1_000);
  });

  it('has room again when one starts, leaves or fails', async () => {
    let isBroken = false;
    const { visit } = scene({
      maxPaced: 1,
      onDecision: () => {
        if (isBroken) throw new Error('broken');
      },
    });
    visit();
    visit();
    await pass(100);
    const leaving = visit();
    await turns();
    leaving.response.leave();
    await turns();
    isBroken = true;
    const failing = visit();
    await turns();
    isBroken = false;
    const last = visit();
    await turns();

    expect(fates([leaving, failing, last])).toEqual(['left', 'failed', 'rests']);
    await pass(100);
    expect(fate(last)).toBe('runs');
  });

  it('holds for many that are asked about at once: who finds no room takes nothing', async () => {
    const slow = slowStore();
    const { visits } = scene({ maxPaced: 2, store: slow.store, timeoutMs: 60_000 });
    const all = visits(5);
    await slow.answerAll();

    expect(slow.asked).toEqual(['consume', 'consume', 'peek', 'peek', 'peek']);
    expect(fates(all)).toEqual(['runs', 'rests', '429', '429', '429']);
    await pass(100);
  });

  it('gives everything back of one that has to wait after all', async () => {
    const slow = slowStore();
    const policy = [
      { ...window, name: 'window' },
      { ...tenPerSecond, name: 'pace' },
    ];
    const { visit, layer } = scene({ maxPaced: 0, policy, store: slow.store, timeoutMs: 60_000 });
    const both = [visit(), visit()];
    await slow.answerAll(); // both look, and neither would have to wait
    await slow.answerAll();
    await slow.answerAll();

    expect(slow.asked).toEqual(['peek', 'peek', 'consume', 'consume', 'refund']);
    expect(fates(both)).toEqual(['runs', '429']);
    const peek = layer.limiter.peek('*' as never);
    await slow.answerAll();
    expect((await peek).policies.map((left) => left.remaining)).toEqual([99, 10]);
  });

  it('is that of each place: a variant shares it, another layer has its own', async () => {
    const paced = scene({ maxPaced: 1 });
    const variant = sceneOf(new Enforcer([paced.layer.variant({})], testFramework), paced.layer);
    const other = scene({ maxPaced: 1 });

    const all = [...paced.visits(2), variant.visit(), ...other.visits(2)];
    await turns();

    expect(fates(all)).toEqual(['runs', 'rests', '429', 'runs', 'rests']);
    await pass(100);
  });

  it('is the least of all layers that pace, and not that of those that only count', async () => {
    const layers = (outer: number, inner: number): Scene =>
      sceneOfLayers([
        { name: 'counts', policy: window, maxPaced: 0 },
        { name: 'outer', maxPaced: outer },
        { name: 'inner', maxPaced: inner },
      ]);

    const all = [...layers(1, 2).visits(3), ...layers(2, 1).visits(3)];
    await turns();

    expect(fates(all)).toEqual(['runs', 'rests', '429', 'runs', 'rests', '429']);
    await pass(200);
  });
});

/** A store that answers when it is told to, with what it then decides. */
function slowStore(): {
  readonly store: Store;
  readonly asked: string[];
  readonly answer: () => Promise<void>;
  readonly answerAll: () => Promise<void>;
} {
  const inner = memoryStore({ clock });
  const asked: string[] = [];
  let waiting: (() => void)[] = [];
  return {
    asked,
    store: {
      source: 'redis',
      perform: async (requests) => {
        asked.push(requests[0]?.op ?? '');
        await new Promise<void>((resolve) => waiting.push(resolve));
        return inner.perform(requests);
      },
    },
    async answer() {
      await turns();
      waiting.shift()?.();
      await turns();
    },
    async answerAll() {
      await turns();
      const all = waiting;
      waiting = [];
      for (const answer of all) answer();
      await turns();
    },
  };
}

describe('a request that peeks first because the room is full', () => {
  it('waits for a store that hangs no longer than timeoutMs', async () => {
    const store = watched({ source: 'redis', breaker: false, perform: () => new Promise(() => undefined) });
    const { visit } = scene({ key: byUser(({ user }: TestRequest) => user), store, maxPaced: 1, timeoutMs: 1000 });
    visit({ user: 'ann' });
    const second = visit({ user: 'bob' });
    await turns();

    await pass(1000);

    expect(store.calls.map(([request]) => request?.op)).toEqual(['consume', 'peek']);
    expect(fate(second)).toBe('runs');
  });
});
