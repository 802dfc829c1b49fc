import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import {
  createLimiter,
  fixedWindow,
  memoryStore,
  StoreError,
  redisStore,
  type BreakerMessage,
  type BreakerOptions,
  type Limiter,
  type LimiterOptions,
  type Store,
  type StoreRequest,
} from '@sluice/old-core';
import { expectWarnings } from '@sluice/testkit';

expectWarnings('SLUICE_STORE_AWAY');

const policy = fixedWindow({ limit: 1000, window: '1h' });

/** A store that fails while it is told to, and remembers what it was asked. */
class Fickle implements Store {
  readonly source = 'redis';
  readonly memory = memoryStore();
  asked: string[] = [];
  fails: 'not' | 'at once' | 'never answers' = 'at once';
  constructor(readonly breaker: BreakerOptions | false = {}) {}
  async perform(requests: readonly StoreRequest[]) {
    this.asked.push(...requests.map(({ op }) => op));
    if (this.fails === 'at once') throw new Error('away');
    if (this.fails === 'never answers') await new Promise(() => undefined);
    return this.memory.perform(requests);
  }
}

const limiterOn = (store: Store, options: Partial<LimiterOptions> = {}): Limiter =>
  createLimiter({ policy, store, timeoutMs: 50, ...options } as LimiterOptions) as Limiter;

beforeEach(() => {
  jest.useFakeTimers({ doNotFake: ['performance', 'nextTick', 'setImmediate', 'clearImmediate', 'queueMicrotask'] });
});
afterEach(() => {
  jest.useRealTimers();
});
/** Lets time pass, and what happens then. */
const pass = async (ms: number): Promise<void> => {
  await jest.advanceTimersByTimeAsync(ms);
};
const fail = async (limiter: Limiter, times: number): Promise<void> => {
  for (let i = 0; i < times; i++) await limiter.consume('key');
};

describe('a store that keeps failing', () => {
  it('is asked five times, and then no more', async () => {
    const store = new Fickle();
    const limiter = limiterOn(store);

    await fail(limiter, 4);
    expect(limiter.status().breaker).toBe('closed');
    await fail(limiter, 100);

    expect(store.asked).toHaveLength(5);
    expect(limiter.status()).toEqual({ store: 'redis', breaker: 'open', keysInMemory: 1 });
  });

  it('is asked again after a success among the failures', async () => {
    const store = new Fickle();
    const limiter = limiterOn(store);

    for (let i = 0; i < 10; i++) {
      store.fails = 'at once';
      await fail(limiter, 4);
      store.fails = 'not';
      expect((await limiter.consume('key')).source).toBe('redis');
    }

    expect(limiter.status().breaker).toBe('closed');
  });

  it('is not waited for: decisions settle in the same turn', async () => {
    const store = new Fickle();
    const limiter = limiterOn(store);
    await fail(limiter, 5);
    store.fails = 'never answers';

    expect((await limiter.consume('key')).source).toBe('local'); // no time passes here
  });

  it.each(['local', 'allow', 'deny'] as const)('%s: decides as for any other failure', async (onStoreError) => {
    const limiter = limiterOn(new Fickle(), { onStoreError });
    await fail(limiter, 5);

    const decision = await limiter.consume('key');

    expect(decision.allowed).toBe(onStoreError !== 'deny');
    expect(decision.outcome).toBe(onStoreError === 'local' ? 'allowed' : 'unavailable');
  });

  it('throw: rejects with a code of its own, and the last failure as the cause', async () => {
    const limiter = limiterOn(new Fickle(), { onStoreError: 'throw' });
    for (let i = 0; i < 5; i++) await expect(limiter.consume('key')).rejects.toMatchObject({ kind: 'other' });

    await expect(limiter.consume('key')).rejects.toMatchObject({
      code: 'SLUICE_BREAKER_OPEN',
      kind: 'open',
      cause: expect.objectContaining({ message: 'away' }) as unknown,
    });
  });

  it('rejects edits at once, and blocks here all the same', async () => {
    const store = new Fickle();
    const limiter = limiterOn(store);
    await fail(limiter, 5);

    await expect(limiter.block('ann', '1h')).rejects.toMatchObject({ code: 'SLUICE_BREAKER_OPEN' });

    expect((await limiter.consume('ann')).outcome).toBe('blocked');
    expect(store.asked).toHaveLength(5);
  });

  it('is found out once for all limiters that use it', async () => {
    const store = new Fickle();
    await fail(limiterOn(store), 5);

    await limiterOn(store, { name: 'other' }).consume('key');

    expect(store.asked).toHaveLength(5);
  });

  it('opens the breaker by late answers as well', async () => {
    const store = new Fickle();
    store.fails = 'never answers';
    const limiter = limiterOn(store);

    const decisions = Promise.all([1, 2, 3, 4, 5].map(() => limiter.consume('key')));
    await pass(100); // a process that is held up itself gives the store 40 ms more

    expect((await decisions).map(({ source }) => source)).toEqual(Array(5).fill('local'));
    expect(limiter.status().breaker).toBe('open');
  });

  it('is asked for ever where there is no breaker', async () => {
    const store = new Fickle(false);
    const limiter = limiterOn(store);

    await fail(limiter, 100);

    expect(store.asked).toHaveLength(100);
    expect(limiter.status().breaker).toBe('closed');
  });

  it('opens the breaker after as many failures as are said', async () => {
    const store = new Fickle({ failures: 2 });
    await fail(limiterOn(store), 10);

    expect(store.asked).toHaveLength(2);
  });
});

describe('what is to be mended', () => {
  it.each(['SLUICE_TWINS_DISAGREE', 'SLUICE_REDIS_CLIENT_MISSING'] as const)(
    '%s: is never covered up, however often it comes',
    async (code) => {
      const store: Store = {
        source: 'redis',
        perform: () => Promise.reject(new StoreError(code, 'mend this')),
      };
      const limiter = limiterOn(store);

      for (let i = 0; i < 20; i++) await expect(limiter.consume('key')).rejects.toMatchObject({ code });

      expect(limiter.status().breaker).toBe('closed');
    },
  );
});

describe('what is to be mended and comes during an outage', () => {
  it('is told of as soon as a probe meets it', async () => {
    const store = new Fickle();
    const limiter = limiterOn(store);
    await fail(limiter, 5);
    store.perform = () => Promise.reject(new StoreError('SLUICE_TWINS_DISAGREE', 'mend this'));

    await pass(100);

    await expect(limiter.consume('key')).rejects.toMatchObject({ code: 'SLUICE_TWINS_DISAGREE' });
  });
});

describe('a store of another copy of this package', () => {
  it('has its errors known by their codes, not by their class', async () => {
    const foreign = Object.assign(new Error('out of memory'), { code: 'SLUICE_STORE_FAILED', kind: 'oom' });
    const limiter = limiterOn({ source: 'redis', perform: () => Promise.reject(foreign) }, { onStoreError: 'throw' });

    await expect(limiter.consume('key')).rejects.toBe(foreign);
  });
});

describe('a probe', () => {
  it('has the time that the most patient limiter of the store gives', async () => {
    const store = new Fickle();
    await fail(limiterOn(store, { timeoutMs: 2 }), 5);
    const patient = limiterOn(store, { name: 'patient', timeoutMs: 200 });
    await patient.consume('key');
    const inner = store.memory;
    store.fails = 'not';
    store.perform = async (requests) => {
      await new Promise((resolve) => setTimeout(resolve, 50));
      return inner.perform(requests);
    };

    await pass(160);

    expect(patient.status().breaker).toBe('closed');
  });

  it('is sent a fifth of its time after the breaker opened, in the background, and closes it when it succeeds', async () => {
    const store = new Fickle();
    const limiter = limiterOn(store);
    await fail(limiter, 5);
    store.fails = 'not';

    await pass(99);
    expect(store.asked).toHaveLength(5);
    expect((await limiter.consume('key')).source).toBe('local');
    await pass(1);

    expect(store.asked.slice(5)).toEqual(['block']);
    expect(limiter.status().breaker).toBe('closed');
    expect((await limiter.consume('key')).source).toBe('redis');
  });

  it('leaves the breaker open when it fails, and comes again', async () => {
    const store = new Fickle({ probeEveryMs: 100 });
    const limiter = limiterOn(store);
    await fail(limiter, 5);

    await pass(1020);

    expect(store.asked).toHaveLength(5 + 11);
    expect(limiter.status().breaker).toBe('open');
  });

  it('is one at a time: the next one waits until it was answered or late', async () => {
    const store = new Fickle({ probeEveryMs: 10 });
    const limiter = limiterOn(store);
    await fail(limiter, 5);
    store.fails = 'never answers';

    await pass(51); // sent at 2, late at 52
    expect(store.asked).toHaveLength(6);
    expect(limiter.status().breaker).toBe('half-open');
    await pass(60); // or 40 ms later, where this process was held up itself

    expect(store.asked).toHaveLength(7);
  });

  it('rests after a minute without requests; the next request is the probe, and is decided by the store', async () => {
    const store = new Fickle();
    const limiter = limiterOn(store, { onStoreError: 'deny' });
    await fail(limiter, 5);
    await pass(600_000);
    const probed = store.asked.length;
    expect(probed).toBe(5 + 120);

    await pass(600_000);
    expect(store.asked).toHaveLength(probed);
    store.fails = 'not';

    expect(await limiter.consume('key')).toMatchObject({ allowed: true, source: 'redis' });
    expect(limiter.status().breaker).toBe('closed');
  });

  it('lets one request through after its rest, and opens again when that fails', async () => {
    const store = new Fickle();
    const limiter = limiterOn(store);
    await fail(limiter, 5);
    await pass(600_000);
    const probed = store.asked.length;

    await Promise.all([limiter.consume('key'), limiter.consume('key'), limiter.consume('key')]);

    expect(store.asked).toHaveLength(probed + 1);
    expect(limiter.status().breaker).toBe('open');
    await pass(500);
    expect(store.asked).toHaveLength(probed + 2);
  });

  it('is not sent any more once the last limiter of the store is closed', async () => {
    const store = new Fickle();
    const limiter = limiterOn(store);
    await fail(limiter, 5);

    await limiter.close();
    await pass(10_000);

    expect(store.asked).toHaveLength(5);
    expect(jest.getTimerCount()).toBe(0);
  });

  it('does not hear of failures from before it closed the breaker', async () => {
    const store = new Fickle({ probeEveryMs: 10, failures: 5 });
    const limiter = limiterOn(store);
    store.fails = 'never answers';
    const slow = Array.from({ length: 5 }, () => limiter.consume('slow'));
    store.fails = 'at once';
    await fail(limiter, 5);
    store.fails = 'not';
    await pass(10);
    expect(limiter.status().breaker).toBe('closed');

    await pass(90); // a process that is held up itself gives the store 40 ms more
    await Promise.all(slow);

    expect(limiter.status().breaker).toBe('closed');
  });
});

describe('an outage of another kind', () => {
  it('is warned of by itself', async () => {
    const warned = jest.spyOn(process, 'emitWarning').mockImplementation(() => undefined);
    for (const kind of ['connection', 'denied', 'denied'] as const) {
      const perform = (): Promise<never> => Promise.reject(new StoreError('SLUICE_STORE_FAILED', kind, { kind }));
      await fail(limiterOn({ source: 'redis', perform }, { name: 'warned' }), 6);
    }
    const texts = warned.mock.calls.map(([text]) => String(text));
    warned.mockRestore();

    expect(texts).toEqual([
      expect.stringMatching(/^The store of warned keeps failing \(connection\)/),
      expect.stringMatching(/^The store of warned keeps failing \(denied\)/),
    ]);
  });
});

describe('the channel sluice:breaker', () => {
  it('tells every change: of which limiters, and why', async () => {
    const told: unknown[] = [];
    const listen = (message: unknown): void => {
      if ((message as BreakerMessage).limiters.includes('Api')) told.push(message);
    };
    subscribe('sluice:breaker', listen);
    const store = new Fickle();
    const limiter = limiterOn(store, { name: 'Api' });

    await fail(limiter, 5);
    await pass(100);
    store.fails = 'not';
    await pass(500);
    unsubscribe('sluice:breaker', listen);

    const common = { limiters: ['Api'], store: 'redis', shard: undefined, kind: 'other' } as const;
    const expected: readonly BreakerMessage[] = [
      { ...common, state: 'open', previous: 'closed' },
      { ...common, state: 'half-open', previous: 'open' },
      { ...common, state: 'open', previous: 'half-open' },
      { ...common, state: 'half-open', previous: 'open' },
      { ...common, state: 'closed', previous: 'half-open' },
    ];
    expect(told).toEqual(expected);
  });
});

describe('a limiter that is closed by a listener that hears that its breaker opened', () => {
  it.each(['open', 'half-open'])('is probed no more: %s', async (at) => {
    const store = new Fickle();
    const limiter = limiterOn(store, { name: 'closed-by-listener' });
    const listen = (message: unknown): void => {
      const { limiters, state } = message as BreakerMessage;
      if (limiters.includes('closed-by-listener') && state === at) void limiter.close();
    };
    subscribe('sluice:breaker', listen);

    await fail(limiter, 5);
    await pass(10_000);
    unsubscribe('sluice:breaker', listen);

    expect(store.asked).toHaveLength(5);
    expect(jest.getTimerCount()).toBe(0);
  });
});

describe('a part of a store that is no more', () => {
  it('is forgotten: its breaker counts no longer', async () => {
    let node = 'old';
    const store = Object.assign(new Fickle(), { shardOf: () => node });
    const limiter = limiterOn(store);
    await fail(limiter, 5);
    expect(limiter.status().breaker).toBe('open');

    node = 'new';
    store.fails = 'not';

    expect((await limiter.consume('key')).source).toBe('redis');
    expect(limiter.status().breaker).toBe('closed');
    expect(jest.getTimerCount()).toBe(0);
  });
});

describe('rejections while the breaker is open', () => {
  it('are errors of their own: what is attached to one is not on another', async () => {
    const limiter = limiterOn(new Fickle({ failures: 1 }), { onStoreError: 'throw' });
    await limiter.consume('key').catch(() => undefined);

    const [one, other] = await Promise.all(
      ['ann', 'bob'].map((key) => limiter.consume(key).catch((error: unknown) => error)),
    );

    expect(one).not.toBe(other);
    expect(one).toMatchObject({ code: 'SLUICE_BREAKER_OPEN' });
  });
});

describe('a breaker of a store whose parts fail by themselves', () => {
  it('leaves the other parts alone', async () => {
    const store = Object.assign(new Fickle(), { shardOf: (subject: string) => subject.charAt(0) });
    const limiter = limiterOn(store);
    for (let i = 0; i < 5; i++) await limiter.consume('ann');
    store.fails = 'not';

    expect((await limiter.consume('ann')).source).toBe('local');
    expect((await limiter.consume('bob')).source).toBe('redis');
    expect(limiter.status().breaker).toBe('open');
    await pass(500);
    expect(limiter.status().breaker).toBe('closed');
  });

  it('probes a part by what lives there, when what failed there lives elsewhere by now', async () => {
    let hasMoved = false;
    class Moving extends Fickle {
      readonly shardOf = (subject: string): string => (hasMoved && subject === 'ann' ? 'new' : 'old');
      override async perform(requests: readonly StoreRequest[]) {
        const [request] = requests;
        const subject = request !== undefined && 'parts' in request ? request.parts[0]?.subject : undefined;
        this.fails = hasMoved && subject !== 'ann' ? 'not' : 'at once';
        return super.perform(requests);
      }
    }
    const limiter = limiterOn(new Moving());
    for (let i = 0; i < 5; i++) await limiter.consume('ann');
    hasMoved = true;

    expect((await limiter.consume('bob')).source).toBe('local');
    await pass(500);
    expect((await limiter.consume('bob')).source).toBe('redis');
  });
});

describe('breaker options', () => {
  const client = { evalsha: () => Promise.resolve(null), eval: () => Promise.resolve(null) };

  it.each([
    [{ failures: 0 }, 'breaker.failures'],
    [{ failures: 1.5 }, 'breaker.failures'],
    [{ probeEveryMs: 1 }, 'breaker.probeEveryMs'],
    [{ probeEveryMs: '1s' }, 'breaker.probeEveryMs'],
  ])('denies %j', (breaker, field) => {
    expect(() => redisStore(client, { prefix: 'sluice', breaker: breaker as BreakerOptions })).toThrow(
      expect.objectContaining({ code: 'SLUICE_OPTION_INVALID', field }),
    );
  });

  it('names the option that was meant', () => {
    expect(() => redisStore(client, { prefix: 'sluice', breaker: { failure: 3 } as BreakerOptions })).toThrow(
      /did you mean "failures"/,
    );
  });
});
