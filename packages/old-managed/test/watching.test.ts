import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { createLimiter, fixedWindow, type Limiter } from '@sluice/old-core';
import { createPolicies, managed, type Policies, type PolicySource } from '@sluice/old-managed';

const policy = managed('orders');
const record = {
  format: 1,
  version: 9,
  policy: fixedWindow({ limit: 10, window: '1h' }),
  apps: ['checkout'],
  carryOver: 'keep',
  changedAtMs: 1,
  earlier: [],
};

/** Longer than a source that cannot be watched is left alone, and than two polls. */
const WHILE_MS = 12_000;

/** The calls of `watch` of a source, and their results. */
class Watched {
  readonly callbacks: { readonly changed: () => void; readonly ended: () => void }[] = [];
  unwatched = 0;
  loads = 0;
  /** What `watch` returns. */
  how: 'at once' | 'later' | 'throws' | 'rejects' = 'at once';
  records: Record<string, unknown> = { orders: record };
  #open: (() => void)[] = [];

  readonly source: PolicySource = {
    load: () => {
      this.loads++;
      return Promise.resolve(this.records);
    },
    watch: (changed, ended) => {
      this.callbacks.push({ changed, ended });
      const unwatch = (): number => this.unwatched++;
      if (this.how === 'throws') throw new Error('it cannot be watched');
      if (this.how === 'rejects') return Promise.reject(new Error('it cannot be watched'));
      if (this.how === 'at once') return unwatch;
      return new Promise((resolve) => {
        this.#open.push(() => {
          resolve(unwatch);
        });
      });
    },
  };

  get watches(): number {
    return this.callbacks.length;
  }

  /** Resolves the calls that wait. */
  answer(): void {
    for (const open of this.#open.splice(0)) open();
  }
}

let watched: Watched;
let policies: Policies;
const open: Limiter[] = [];
beforeEach(() => {
  jest.useFakeTimers();
  jest.spyOn(process, 'emitWarning').mockImplementation(() => undefined);
  watched = new Watched();
  policies = createPolicies(watched.source);
});
afterEach(async () => {
  for (const limiter of open.splice(0)) await limiter.close();
  jest.useRealTimers();
});

/** A limiter that follows the source. */
async function follow(): Promise<Limiter> {
  const limiter = createLimiter({ policy, app: 'checkout', policies });
  open.push(limiter);
  await limiter.peek('ann');
  return limiter;
}

const pass = async (ms: number): Promise<void> => {
  await jest.advanceTimersByTimeAsync(ms);
};

describe('a source that cannot be watched, or no more', () => {
  it.each([['throws'], ['rejects']] as const)('%s: is tried again by and by, and not at every poll', async (how) => {
    watched.how = how;
    await follow();
    await pass(5000);
    const soon = watched.watches;
    watched.how = 'at once';

    await pass(WHILE_MS);

    expect(soon).toBe(1);
    expect(watched.watches).toBe(2);
    await pass(10 * WHILE_MS);
    expect(watched.watches).toBe(2);
  });

  it.each([['throws'], ['rejects']] as const)('%s, however often: is tried on', async (how) => {
    watched.how = how;
    await follow();

    await pass(10 * WHILE_MS);

    expect(watched.watches).toBeGreaterThanOrEqual(10);
    expect(watched.watches).toBeLessThanOrEqual(13);
  });

  it('is watched again when it said that nothing more will be heard, and heard', async () => {
    const orders = await follow();
    watched.callbacks[0]?.ended();
    await pass(WHILE_MS);
    expect(watched.watches).toBe(2);

    watched.records = { orders: { ...record, version: 10, policy: fixedWindow({ limit: 3, window: '1h' }) } };
    const before = watched.loads;
    watched.callbacks[1]?.changed();
    await pass(0);

    expect(watched.loads).toBe(before + 1);
    expect((await orders.peek('ann')).limit).toBe(3);
  });

  it('is watched once more, however often it reports the end', async () => {
    await follow();
    for (let i = 0; i < 5; i++) watched.callbacks[0]?.ended();

    await pass(WHILE_MS);

    expect(watched.watches).toBe(2);
  });

  it('is polled until then: changes are known within a second', async () => {
    watched.how = 'rejects';
    const orders = await follow();
    watched.records = { orders: { ...record, version: 10, policy: fixedWindow({ limit: 3, window: '1h' }) } };

    await pass(1000);

    expect((await orders.peek('ann')).limit).toBe(3);
  });
});

describe('a source whose limiters are closed', () => {
  it('is unwatched, and neither loaded nor watched any more', async () => {
    const orders = await follow();
    await orders.close();
    const { loads } = watched;

    watched.callbacks[0]?.ended();
    await pass(10 * WHILE_MS);

    expect(watched).toMatchObject({ watches: 1, unwatched: 1, loads });
  });

  it('is unwatched with the last of them', async () => {
    const [one, other] = [await follow(), createLimiter({ name: 'other', policy, app: 'checkout', policies })];
    await one.close();
    const meanwhile = watched.unwatched;
    await other.close();

    expect(meanwhile).toBe(0);
    expect(watched).toMatchObject({ watches: 1, unwatched: 1 });
  });

  it('is unwatched as well when `watch` resolves only then', async () => {
    watched.how = 'later';
    const orders = await follow();
    await orders.close();

    watched.answer();
    await pass(0);

    expect(watched).toMatchObject({ watches: 1, unwatched: 1 });
  });

  it('is not watched again for what had failed before', async () => {
    watched.how = 'rejects';
    const orders = await follow();
    await orders.close();

    await pass(10 * WHILE_MS);

    expect(watched.watches).toBe(1);
  });

  it.each([['throws'], ['rejects']] as const)(
    'and opened again soon after its watch failed (%s): what is watched then is unwatched in the end',
    async (how) => {
      watched.how = how;
      await (await follow()).close();
      watched.how = 'at once';
      const again = await follow();
      await pass(10 * WHILE_MS);
      const meanwhile = { watches: watched.watches, unwatched: watched.unwatched };

      await again.close();

      expect(meanwhile).toEqual({ watches: 2, unwatched: 0 });
      expect(watched.unwatched).toBe(1);
    },
  );

  it('and opened again: the end of an earlier watch does not affect the current one', async () => {
    await (await follow()).close();
    const again = await follow();

    watched.callbacks[0]?.ended();
    await pass(10 * WHILE_MS);
    await again.close();

    expect(watched).toMatchObject({ watches: 2, unwatched: 2 });
  });
});

describe('a source that is being loaded while its limiters are closed', () => {
  it.each([
    ['is not asked again', 0],
    ['is not asked again for what it told of meanwhile', 1],
  ])('%s', async (_what, markOnce) => {
    const orders = await follow();
    let answer = (): void => undefined;
    let loads = 0;
    watched.source.load = async () => {
      loads++;
      await new Promise<void>((resolve) => (answer = resolve));
      return watched.records;
    };
    await pass(600); // the next poll
    for (let i = 0; i < markOnce; i++) watched.callbacks[0]?.changed();

    await orders.close();
    answer();
    await pass(10 * WHILE_MS);

    expect(loads).toBe(1);
  });
});

describe('a source that returns one and the same object', () => {
  it('is seen to have changed when the object has', async () => {
    const mutable = structuredClone(record) as { version: number; policy: { limit: number } };
    watched.records = { orders: mutable };
    const orders = await follow();
    expect((await orders.consume('ann', 4)).remaining).toBe(6);

    mutable.version = 10;
    mutable.policy.limit = 5;
    await pass(1000);

    expect(await orders.consume('ann')).toMatchObject({ limit: 5, remaining: 0 });
  });

  it('is seen to have more of them, and fewer applications', async () => {
    const orders = await follow();
    const login = createLimiter({ name: 'login', policy: managed('login'), app: 'checkout', policies });
    open.push(login);
    expect((await login.peek('ann')).outcome).toBe('unconfigured');

    watched.records['login'] = record;
    watched.records['orders'] = { ...record, apps: [] };
    await pass(1000);

    expect((await login.peek('ann')).limit).toBe(10);
    expect((await orders.peek('ann')).outcome).toBe('unconfigured');
  });
});
