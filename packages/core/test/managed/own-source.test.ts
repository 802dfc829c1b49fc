import { describe, expect, it } from '@jest/globals';
import { until, useClosing } from '@sluice/testkit';
import { createLimiter, memoryStore, readEvents, type Limiter } from '../../src/index.ts';
import type { LimiterCore } from '../../src/limiter/core.ts';
import { createPolicies, managed, redisSource, type PolicySource } from '../../src/managed/index.ts';
import { useWarnings } from '../use-warnings.ts';
import { ten, twenty } from './use-policies.ts';

/** A table in memory, whose put compares. */
function table(records: Record<string, unknown> = {}): PolicySource & { readonly records: Record<string, unknown> } {
  return {
    records,
    load: () => Promise.resolve({ ...records }),
    put: (name, record, before) => {
      const isCurrent = records[name] === before;
      if (isCurrent) records[name] = record;
      return Promise.resolve(isCurrent);
    },
  };
}

const warnings = useWarnings();
const closeLater = useClosing();

function limit(name: string, source: PolicySource, options: object = {}): Limiter {
  const more = { store: memoryStore(), onStoreError: 'deny', ...options } as const;
  return closeLater(createLimiter({ policy: managed(name), policies: createPolicies(source), ...more }));
}

function impossible(what: string): never {
  throw new Error(`${what} is not possible`);
}

describe('policies in a source of one’s own', () => {
  it('may be written by hand, with no more than the policy', async () => {
    const records: Record<string, unknown> = { orders: { policy: { ...ten } }, 'orders:key:ann': { policy: twenty } };
    const source = table(records);
    const policies = createPolicies(source);

    expect(await policies.list()).toMatchObject([{ name: 'orders', policy: ten, apps: null, changedAtMs: 0 }]);
    expect(await policies.overrides('orders')).toMatchObject([{ target: 'ann', policy: twenty }]);
    expect(await policies.put('orders', twenty)).toMatchObject({ change: 'changed', startsAfresh: false });
    records['orders'] = { ...(records['orders'] as object), policy: null };
    expect(await policies.get('orders')).toBeUndefined();
  });

  it('are written back if they vanish without a removal', async () => {
    const source = table();
    const orders = limit('orders', source);
    await createPolicies(source).put('orders', ten);
    await until('it is known', async () => (await orders.peek('ann')).outcome === 'allowed');

    delete source.records['orders'];

    await until('it is back', () => source.records['orders'] !== undefined);
    expect((await orders.consume('ann')).limit).toBe(10);
    expect(warnings.join()).toContain('SLUICE_POLICIES_LOST: the source of policies lost 1 record of managed policies');
  });

  it('stay in use if a read-only source loses them', async () => {
    const records: Record<string, unknown> = { kept: { policy: ten } };
    const orders = limit('kept', { name: 'the file', load: () => Promise.resolve({ ...records }) });
    expect((await orders.consume('ann')).remaining).toBe(9);

    delete records['kept'];

    await until('it warns', () => /the file lost 1 record .* kept\. They stay in use here/.test(warnings.join()));
    expect((orders as LimiterCore).status().lostPolicies).toEqual(['kept']);
    expect((await orders.consume('ann')).remaining).toBe(8);

    records['kept'] = { policy: ten };

    await until('the loss has ended', async () => {
      const [loss] = await readEvents({ limit: 'kept' });
      return loss?.what === 'lost' && loss.endAtMs !== null;
    });
  });

  it('are not changed without put', async () => {
    const policies = createPolicies({ load: () => Promise.resolve({}) });

    await expect(policies.put('orders', ten)).rejects.toMatchObject({ code: 'SLUICE_POLICIES_READ_ONLY' });
  });

  it('are followed at once if the source says so', async () => {
    const records: Record<string, unknown> = { orders: { policy: ten } };
    let changed = (): void => undefined;
    let isWatched = true;
    const orders = limit('orders', {
      load: () => Promise.resolve({ ...records }),
      watch: (call) => {
        changed = call;
        return () => (isWatched = false);
      },
    });
    await orders.consume('ann');

    records['orders'] = { policy: twenty };
    changed();
    await until('it is known', async () => (await orders.peek('ann')).limit === 20);
    await orders.close();

    await until('it is not watched any more', () => !isWatched);
  });

  it.each<[string, NonNullable<PolicySource['watch']>]>([
    ['watch throws', () => impossible('watch')],
    ['what watch returned throws', () => () => impossible('unwatch')],
  ])('are followed by polling, and let go, if %s', async (_what, watch) => {
    const records: Record<string, unknown> = { orders: { policy: ten } };
    const orders = limit('orders', { load: () => Promise.resolve({ ...records }), watch });
    await orders.consume('ann');

    records['orders'] = { policy: twenty };

    await until('it is known', async () => (await orders.peek('ann')).limit === 20);
    await orders.close();
  });

  it('are not read again while the source returns the same frozen object', async () => {
    let reads = 0;
    const records = Object.freeze({
      get orders() {
        reads++;
        return { policy: ten };
      },
    });
    const policies = createPolicies({ load: () => Promise.resolve(records) });
    await policies.get('orders');
    const before = reads;

    await policies.get('orders');

    expect(reads).toBe(before);
  });

  it('give up if every put comes too late', async () => {
    const source = { ...table(), put: () => Promise.resolve(false) };

    await expect(createPolicies(source).put('orders', ten)).rejects.toThrow(
      'because of 20 concurrent changes in a row',
    );
  });
});

describe('policies that are closed', () => {
  it('do not read the source again for a call that waits for its turn', async () => {
    const answers: (() => void)[] = [];
    const load = () =>
      new Promise<object>((resolve) =>
        answers.push(() => {
          resolve({});
        }),
      );
    const policies = createPolicies({ load } as PolicySource);
    const [first, second] = [policies.list(), policies.list()];
    await until('it is asked', () => answers.length === 1);

    await policies.close();
    answers[0]?.();

    expect(await first).toEqual([]);
    await expect(second).rejects.toThrow('the policies were closed during the call');
    expect(answers).toHaveLength(1);
  });
});

describe('a source that misbehaves', () => {
  const fail = (): never => {
    throw new Error('broken');
  };
  it.each([
    ['load throws', fail, 'the store failed: broken'],
    ['load returns nothing', () => Promise.resolve(undefined), 'did not return an object of records'],
  ])('(%s) makes decisions unavailable until it is mended', async (_what, fault, message) => {
    let load: () => unknown = fault;
    const orders = limit('orders', { load: (() => load()) as PolicySource['load'] });

    const decision = await orders.consume('ann');
    load = () => Promise.resolve({ orders: { policy: ten } });

    expect(decision).toMatchObject({ allowed: false, outcome: 'unavailable' });
    expect(decision.error?.message).toContain(message);
    await until('it decides', async () => (await orders.consume('ann')).allowed);
  });
});

describe('createPolicies', () => {
  it.each([[undefined], [null], ['redis://127.0.0.1'], [memoryStore()], [{}]])('rejects %s', (source) => {
    expect(() => createPolicies(source as PolicySource)).toThrow('createPolicies takes redisStore(...), redisSource(');
  });

  it('needs a prefix for Redis', () => {
    expect(() => redisSource('redis://127.0.0.1', {} as { prefix: string })).toThrow('redisSource needs a prefix');
    expect(() => redisSource('redis://127.0.0.1', undefined as never)).toThrow('redisSource needs a prefix');
  });
});

describe('managed', () => {
  it('needs a name, and a source', () => {
    expect(() => managed('no name')).toThrow('name must be a letter followed by');
    expect(() => createLimiter({ policy: managed('orders'), store: memoryStore() })).toThrow(
      'managed policies are kept in the Redis of the limiter',
    );
    const options = { policy: managed('orders'), store: memoryStore(), policies: {} };
    expect(() => createLimiter(options as never)).toThrow('policies must be what createPolicies(source) returns');
  });

  it.each([
    ['there is no such policy', 'nothing', {}, { onUnconfigured: 'deny' }, false],
    ['it was removed', 'removed', { removed: { policy: null } }, { onUnconfigured: 'allow' }, true],
    ['"b" is not in its list of apps', 'orders', { orders: { policy: ten, apps: ['a'] } }, { app: 'b' }, false],
    ['it is only for some applications', 'orders', { orders: { policy: ten, apps: ['a'] } }, {}, false],
  ])('is unconfigured if %s', async (why, name, records, options, allowed) => {
    const decision = await limit(name, table(records), options).consume('ann');

    expect(decision).toMatchObject({ outcome: 'unconfigured', allowed });
    expect(warnings.join()).toContain(why);
    expect((await limit('all', table({ all: { policy: ten } }), { app: 'b' }).consume('ann')).allowed).toBe(true);
    const onList = limit('some', table({ some: { policy: ten, apps: ['a', 'b'] } }), { app: 'b' });
    expect((await onList.consume('ann')).allowed).toBe(true);
  });
});
