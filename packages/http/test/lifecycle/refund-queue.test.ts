import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { byAll, byIp, byUser, type ResponsePlan } from '@sluice/http';
import { fixedWindow, memoryStore, type Decision, type Store } from '@sluice/core';
import { createEnforcer, Enforcer, Layer } from '@sluice/http/spi';
import {
  fakeClock,
  testFramework,
  TestResponse,
  type TestOptions,
  type TestRequest,
  nextTurn,
  watched,
} from '@sluice/testkit';

const HOLD_MS = 5_000;
const ASK_AGAIN_MS = 100;

// Time stands still unless a test moves it: what happens meanwhile, happens at once.
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

type Answer = ResponsePlan<TestRequest, TestResponse>;

/** A request that has been sent, and what became of it. */
interface Visit {
  readonly response: TestResponse;
  answer: Answer | undefined;
  error: unknown;
}

interface Scene {
  readonly layer: Layer<TestRequest, TestResponse>;
  visit(request?: TestRequest): Visit;
  /** How many are there at once, in the order of their numbers. */
  visits(count: number, request?: TestRequest): Visit[];
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

function scene(limit: number, options: Partial<TestOptions> = {}): Scene {
  const { enforcer, layer } = createEnforcer<TestRequest, TestResponse>(
    {
      policy: fixedWindow({ limit, window: '1h' }),
      key: byAll(),
      refund: { when: 'on-success', holdMs: HOLD_MS },
      ...options,
    } as TestOptions,
    testFramework,
  );
  return sceneOf(enforcer, layer);
}

const fate = ({ answer }: Visit): string =>
  answer === undefined
    ? 'waits'
    : answer.isGone === true
      ? 'left'
      : answer.denial === undefined
        ? 'runs'
        : String(answer.denial.status);
const fates = (visits: readonly Visit[]): string[] => visits.map(fate);

describe('a request over a limit whose units may come back', () => {
  it('is denied at once where no holdMs is said', async () => {
    const { visits } = scene(1, { refund: 'on-success' });

    const both = visits(2);
    await turns();

    expect(fates(both)).toEqual(['runs', '429']);
  });

  it('waits for its turn: of 20 at once never more than 5 run, first come first served, and all get through', async () => {
    const { visits, layer } = scene(5);
    const all = visits(20);

    const order: number[] = [];
    let most = 0;
    for (;;) {
      await turns();
      const running = all.filter((visit) => fate(visit) === 'runs' && !visit.response.writableEnded);
      if (running.length === 0) break;
      most = Math.max(most, running.length);
      const [first] = running;
      order.push(all.indexOf(first as Visit));
      first?.response.finish();
    }

    expect(fates(all)).toEqual(new Array(20).fill('runs'));
    expect(order).toEqual(all.map((_, i) => i));
    expect(most).toBe(5);
    expect((await layer.limiter.peek('*' as never)).remaining).toBe(5);
  });

  it('goes on waiting while answers keep their units, and is denied when holdMs are over', async () => {
    const { visit, visits } = scene(1);
    const first = visit();
    await turns();
    const others = visits(3);
    await turns();

    first.response.finish(500);
    await pass(HOLD_MS - 1);
    expect(fates(others)).toEqual(['waits', 'waits', 'waits']);
    await pass(1);

    expect(fates(others)).toEqual(['429', '429', '429']);
  });

  it('has its time from when it came, wherever it stands', async () => {
    const { visit } = scene(1);
    visit();
    const second = visit();
    await pass(HOLD_MS / 2);
    const third = visit();
    await pass(HOLD_MS / 2);

    expect(fates([second, third])).toEqual(['429', 'waits']);
    await pass(HOLD_MS / 2);
    expect(fate(third)).toBe('429');
  });

  it('gets a unit that comes back in its last millisecond', async () => {
    const { visits } = scene(1);
    const [first, second] = visits(2) as [Visit, Visit];
    await pass(HOLD_MS - 1);

    first.response.finish();
    await turns();

    expect(fate(second)).toBe('runs');
  });

  it('is not overtaken by one that comes when a unit is free again', async () => {
    const { visit, visits } = scene(1);
    const [first, second] = visits(2) as [Visit, Visit];
    await turns();

    first.response.finish();
    const third = visit();
    await turns();

    expect(fates([second, third])).toEqual(['runs', 'waits']);
    second.response.finish();
    await turns();
    expect(fate(third)).toBe('runs');
  });

  describe('behind one that costs more', () => {
    const costs = { cost: ({ user }: TestRequest): number => Number(user) };

    it('does not wait for it while the limit allows its own cost; the other keeps its place until holdMs', async () => {
      const { visit } = scene(6, costs);
      visit({ user: '4' });
      const six = visit({ user: '6' });
      await turns();

      const small = [visit({ user: '1' }), visit({ user: '1' }), visit({ user: '1' })];
      await turns();

      expect(fates([six, ...small])).toEqual(['waits', 'runs', 'runs', 'waits']);
      await pass(HOLD_MS);
      expect(fates([six, ...small])).toEqual(['429', 'runs', 'runs', '429']);
    });

    it('gets the units that come back, if they are too few for the other', async () => {
      const { visit } = scene(6, costs);
      const first = [visit({ user: '1' }), visit({ user: '5' })] as [Visit, Visit];
      const [six, one] = [visit({ user: '6' }), visit({ user: '1' })];
      await turns();
      expect(fates([six, one])).toEqual(['waits', 'waits']);

      first[0].response.finish();
      await turns();
      expect(fates([six, one])).toEqual(['waits', 'runs']);

      one.response.finish();
      first[1].response.finish();
      await turns();
      expect(fate(six)).toBe('runs');
    });

    it('lets the other have what is enough for it first', async () => {
      const { visit } = scene(6, costs);
      const first = visit({ user: '6' });
      const six = visit({ user: '6' });
      await turns();

      first.response.finish();
      const one = visit({ user: '1' });
      await turns();

      expect(fates([six, one])).toEqual(['runs', 'waits']);
      six.response.finish();
      await turns();
      expect(fate(one)).toBe('runs');
    });

    it('never lets more run than the limit, and each that the rest allows, whatever the costs', async () => {
      const { visit, layer } = scene(6, costs);
      const all: Visit[] = [];
      const cost = new Map<Visit, number>();
      for (let i = 0; i < 90; i++) {
        const units = 1 + ((i * 7) % 6);
        const next = visit({ user: String(units) });
        cost.set(next, units);
        all.push(next);
      }
      const sum = (visits: readonly Visit[]): number => visits.reduce((units, one) => units + (cost.get(one) ?? 0), 0);
      for (;;) {
        await turns(60);
        const running = all.filter((one) => fate(one) === 'runs' && !one.response.writableEnded);
        const waiting = all.filter((one) => fate(one) === 'waits');
        expect(sum(running)).toBeLessThanOrEqual(6);
        expect(waiting.filter((one) => (cost.get(one) ?? 0) <= 6 - sum(running))).toEqual([]);
        if (running.length === 0) break;
        running[0]?.response.finish();
      }

      expect(fates(all)).toEqual(new Array(90).fill('runs'));
      expect((await layer.limiter.peek('*' as never)).remaining).toBe(6);
    });

    it('is noticed over a slow store, with one call at a time', async () => {
      const slow = slowStore(memoryStore());
      const { visit } = scene(6, { ...costs, store: slow.store, timeoutMs: 60_000 });
      visit({ user: '4' });
      const six = visit({ user: '6' });
      for (let i = 0; i < 3; i++) await slow.answer();
      const one = visit({ user: '1' });

      for (let i = 0; i < 3; i++) await slow.answer();

      expect(fates([six, one])).toEqual(['waits', 'runs']);
      six.response.leave();
      await turns();
    });
  });

  it('waits by itself: other keys pass', async () => {
    const { visit } = scene(1, { key: byUser() });
    visit({ user: 'ann' });
    const second = visit({ user: 'ann' });
    const other = visit({ user: 'bob' });
    await turns();

    expect(fates([second, other])).toEqual(['waits', 'runs']);
    await pass(HOLD_MS);
  });

  it('takes what time gives back', async () => {
    const clock = fakeClock();
    const { visit } = scene(1, { policy: fixedWindow({ limit: 1, window: '1s' }), store: memoryStore({ clock }) });
    visit();
    const second = visit();
    await turns();

    clock.advance(1_000);
    await pass(ASK_AGAIN_MS);

    expect(fate(second)).toBe('runs');
  });

  it('lets all those after it through when several units come back at once', async () => {
    const clock = fakeClock();
    const { visits } = scene(3, { policy: fixedWindow({ limit: 3, window: '1s' }), store: memoryStore({ clock }) });
    const all = visits(8);
    await turns();

    clock.advance(1_000);
    await pass(ASK_AGAIN_MS);

    expect(fates(all)).toEqual([...new Array<string>(6).fill('runs'), 'waits', 'waits']);
    clock.advance(1_000);
    await pass(ASK_AGAIN_MS);
    expect(fates(all)).toEqual(new Array(8).fill('runs'));
  });

  it('markOnce what another process gave back', async () => {
    const store = memoryStore();
    const here = scene(1, { store, shared: true });
    const elsewhere = scene(1, { store, shared: true });
    const first = elsewhere.visit();
    const second = here.visit();
    await turns();
    expect(fate(second)).toBe('waits');

    first.response.finish();
    await pass(ASK_AGAIN_MS);

    expect(fate(second)).toBe('runs');
  });

  it('asks the store no more than every tenth of a second, however many requests wait behind it', async () => {
    const store = watched(memoryStore());
    const { visits } = scene(1, { store });
    visits(50);
    await turns();
    store.calls.length = 0;

    await pass(10 * ASK_AGAIN_MS);

    expect(store.calls).toHaveLength(10);
    await pass(HOLD_MS);
  });

  it('never waits in report mode', async () => {
    const { visits } = scene(1, { mode: 'report' });

    const all = visits(3);
    await turns();

    expect(fates(all)).toEqual(['runs', 'runs', 'runs']);
  });
});

describe('a client that leaves while it waits', () => {
  it('gives its place up, and nothing is taken in its name', async () => {
    const decided: string[] = [];
    const { visits, layer } = scene(1, { onDecision: ({ outcome }: Decision) => decided.push(outcome) });
    const [first, second, third] = visits(3) as [Visit, Visit, Visit];
    await turns();

    second.response.leave();
    await turns();
    expect(fates([second, third])).toEqual(['left', 'waits']);
    first.response.finish();
    await turns();

    expect(fate(third)).toBe('runs');
    expect(decided).toEqual(['allowed', 'allowed']);
    third.response.finish();
    await turns();
    expect((await layer.limiter.peek('*' as never)).remaining).toBe(1);
  });

  it('gives its place up from the middle of the queue, and from its end', async () => {
    const { visits } = scene(1);
    const [first, second, third, fourth] = visits(4) as [Visit, Visit, Visit, Visit];
    await turns();

    fourth.response.leave();
    third.response.leave();
    await turns();

    expect(fates([second, third, fourth])).toEqual(['waits', 'left', 'left']);
    first.response.finish();
    await turns();
    expect(fate(second)).toBe('runs');
  });

  it('is not made to wait when it left while the store was asked', async () => {
    const slow = slowStore(memoryStore());
    const { visit, layer } = scene(1, { store: slow.store, timeoutMs: 60_000 });
    const first = visit();
    await slow.answer();
    const second = visit();

    second.response.leave();
    await slow.answer();

    expect(fate(second)).toBe('left');
    first.response.finish();
    await slow.answer();
    const left = layer.limiter.peek('*' as never);
    await slow.answer();
    expect((await left).remaining).toBe(1);
  });

  it('is noticed at once when it leaves while its turn is being tried', async () => {
    const slow = slowStore(memoryStore());
    const { visit } = scene(1, { store: slow.store, timeoutMs: 60_000 });
    const first = visit();
    await slow.answer();
    const second = visit();
    await slow.answer();

    second.response.leave();
    await slow.answer();

    expect(fate(second)).toBe('left');
    first.response.leave();
  });

  it('leaves no listeners behind', async () => {
    const { visits } = scene(1);
    const [first, second, third] = visits(3) as [Visit, Visit, Visit];
    await turns();
    third.response.leave();
    first.response.finish();
    await turns();
    second.response.finish();
    await turns();

    const listeners = [first, second, third].map(({ response }) => response.eventNames());

    expect(listeners).toEqual([[], [], []]);
  });
});

describe('what waiting cannot help', () => {
  const held = { when: 'on-success', holdMs: HOLD_MS } as const;
  const layerOf = (
    name: string,
    limit: number,
    store: Store,
    options: Partial<TestOptions> = {},
  ): Layer<TestRequest, TestResponse> =>
    new Layer<TestRequest, TestResponse>(
      { name, policy: fixedWindow({ limit, window: '1h' }), key: byAll(), store, ...options } as TestOptions,
      testFramework,
    ).claim();

  it('is denied at once: a cost that never fits', async () => {
    const { visit } = scene(5, { cost: ({ user }: TestRequest) => Number(user ?? 1) });

    const tooMuch = visit({ user: '6' });
    await turns();

    expect(fate(tooMuch)).toBe('429');
  });

  it('is denied at once while others wait, too', async () => {
    const { visit, visits } = scene(5, { cost: ({ user }: TestRequest) => Number(user ?? 1) });
    visits(6);
    await turns();

    const tooMuch = visit({ user: '6' });
    await turns();

    expect(fate(tooMuch)).toBe('429');
    await pass(HOLD_MS);
  });

  it('is denied at once: a key that is blocked', async () => {
    const { visit, layer } = scene(1);
    await layer.limiter.block('*' as never, '1h');

    const blocked = visit();
    await turns();

    expect(fate(blocked)).toBe('429');
  });

  it('is denied when it is noticed: a key that is blocked while requests wait', async () => {
    const { visits, layer } = scene(1);
    const [, ...waiting] = visits(4);
    await turns();

    await layer.limiter.block('*' as never, '1h');
    await pass(ASK_AGAIN_MS);

    expect(fates(waiting)).toEqual(['429', '429', '429']);
  });

  it.each([
    ['outside', false],
    ['inside', true],
  ])('is denied at once: a limit without holdMs, %s', async (_where, isInside) => {
    const store = memoryStore();
    const plain = layerOf('plain', 1, store);
    const holding = layerOf('holding', 1, store, { refund: held });
    const { visits } = sceneOf(new Enforcer(isInside ? [holding, plain] : [plain, holding], testFramework), holding);

    const both = visits(2);
    await turns();

    expect(fates(both)).toEqual(['runs', '429']);
  });

  it('is denied at once while others wait: a limit without holdMs', async () => {
    const store = memoryStore();
    const holding = layerOf('holding', 1, store, { refund: held });
    const plain = layerOf('plain', 1, store, { key: byUser() });
    const { visit } = sceneOf(new Enforcer([holding, plain], testFramework), holding);
    visit({ user: 'ann' });
    const waiting = visit({ user: 'bob' });
    await turns();

    const other = visit({ user: 'ann' });
    await turns();

    expect(fates([waiting, other])).toEqual(['waits', '429']);
    await pass(HOLD_MS);
  });

  it('ends the wait: a store that fails', async () => {
    let isAway = false;
    const memory = memoryStore();
    const store: Store = {
      source: 'redis',
      perform: (requests) => {
        if (isAway) throw new Error('away');
        return memory.perform(requests);
      },
    };
    const { visits } = scene(1, { store, onStoreError: 'deny' });
    const [, ...waiting] = visits(3);
    await turns();

    isAway = true;
    await pass(ASK_AGAIN_MS);

    expect(fates(waiting)).toEqual(['503', '503']);
  });

  it('is the error of each that waits: a store that fails, with onStoreError throw', async () => {
    let isAway = false;
    const memory = memoryStore();
    const store: Store = {
      source: 'redis',
      perform: (requests) => {
        if (isAway) throw new Error('away');
        return memory.perform(requests);
      },
    };
    const { visits } = scene(1, { store, onStoreError: 'throw' });
    const [, ...waiting] = visits(3);
    await turns();

    isAway = true;
    await pass(ASK_AGAIN_MS);

    expect(waiting.map(({ error }) => (error as { code?: string }).code)).toEqual([
      'SLUICE_STORE_FAILED',
      'SLUICE_STORE_FAILED',
    ]);
  });
});

describe('a queue', () => {
  it('loses no call that comes while a request is still being denied', async () => {
    const slow = slowStore(memoryStore());
    const { visit } = scene(1, { store: slow.store, timeoutMs: 60_000 });
    const first = visit();
    await slow.answer();
    const second = visit();
    first.response.finish();
    await turns();

    // It is heard that the first has given back before it is heard that the second was denied.
    await slow.answerNewest();
    await slow.answer();
    await slow.answer();

    expect(fate(second)).toBe('runs');
  });

  it('loses no call that comes while its first is trying', async () => {
    const slow = slowStore(memoryStore());
    const { visit, visits } = scene(2, { store: slow.store, timeoutMs: 60_000 });
    const [first, second] = visits(2) as [Visit, Visit];
    await slow.answerAll();
    const third = visit();
    await slow.answer();

    first.response.finish(500);
    second.response.finish();
    await slow.answerAll();
    await slow.answerAll();
    await slow.answerAll();

    expect(fate(third)).toBe('runs');
  });

  it('lets one wait for what denies it by now, in the turn of that', async () => {
    const store = memoryStore();
    const layerOf = (name: string, limit: number, options: Partial<TestOptions>): Layer<TestRequest, TestResponse> =>
      new Layer<TestRequest, TestResponse>(
        { name, policy: fixedWindow({ limit, window: '1h' }), store, ...options } as TestOptions,
        testFramework,
      ).claim();
    const created = (_request: TestRequest, { statusCode }: TestResponse): boolean => statusCode === 201;
    const perUser = layerOf('per-user', 1, { key: byUser(), refund: { when: 'on-success', holdMs: HOLD_MS } });
    const all = layerOf('all', 2, { key: byAll(), refund: { when: created, holdMs: HOLD_MS } });
    const { visit } = sceneOf(new Enforcer([perUser, all], testFramework), all);
    const [ann, bob, annAgain] = [visit({ user: 'ann' }), visit({ user: 'bob' }), visit({ user: 'ann' })];
    await turns();
    const cid = visit({ user: 'cid' });
    await turns();

    ann.response.finish(200);
    await turns();
    expect(fates([annAgain, cid])).toEqual(['waits', 'waits']);
    bob.response.finish(201);
    await turns();
    expect(fates([annAgain, cid])).toEqual(['waits', 'runs']);
    cid.response.finish(201);
    await turns();

    expect(fate(annAgain)).toBe('runs');
  });

  it('holds a hundred for one key, and denies more of that key at once', async () => {
    const { visits, visit, layer } = scene(1, { key: byIp() });
    const [, ...waiting] = visits(101);
    await turns();
    expect(new Set(fates(waiting))).toEqual(new Set(['waits']));

    const more = visit();
    await turns();
    expect(fate(more)).toBe('429');
    const others = [visit({ address: '192.0.2.9' }), visit({ address: '192.0.2.9' })];
    await turns();
    expect(fates(others)).toEqual(['runs', 'waits']);

    waiting[0]?.response.leave();
    await turns();
    const another = visit();
    await turns();
    expect(fate(another)).toBe('waits');

    await pass(HOLD_MS);
    expect(layer.refund?.queue.hasRoomFor('another')).toBe(true);
  });

  it('is gone when no request waits: the next one is decided in one call', async () => {
    const store = watched(memoryStore());
    const { visit, visits } = scene(1, { store });
    const [first, second] = visits(2) as [Visit, Visit];
    await turns();
    first.response.finish();
    await turns();
    second.response.finish();
    await turns();
    store.calls.length = 0;

    visit();
    await turns();

    expect(store.calls.map(([request]) => request?.op)).toEqual(['consume']);
  });
});

/** A store that decides when it is asked, and answers when a test says so. */
function slowStore(store: Store): {
  readonly store: Store;
  /** Answers the oldest question. */
  answer(): Promise<void>;
  answerNewest(): Promise<void>;
  /** Answers all questions that have been asked, in one go. */
  answerAll(): Promise<void>;
} {
  const waiting: (() => void)[] = [];
  return {
    store: {
      source: 'redis',
      perform: async (requests) => {
        const answers = store.perform(requests);
        await new Promise<void>((resolve) => waiting.push(resolve));
        return answers;
      },
    },
    async answer() {
      await turns();
      waiting.shift()?.();
      await turns();
    },
    async answerNewest() {
      await turns();
      waiting.pop()?.();
      await turns();
    },
    async answerAll() {
      await turns();
      for (const resolve of waiting.splice(0)) resolve();
      await turns();
    },
  };
}

describe('a request that waits while the store hangs', () => {
  it('waits for the store no longer than timeoutMs, however often it tries', async () => {
    const store = watched({ source: 'redis', breaker: false, perform: () => new Promise(() => undefined) });
    const { visits } = scene(1, { store, timeoutMs: 1000 });
    const [, second] = visits(2);
    await turns();

    await pass(HOLD_MS);

    expect(store.calls).toHaveLength(2);
    expect(second?.answer?.denial?.status).toBe(429);
  });
});
