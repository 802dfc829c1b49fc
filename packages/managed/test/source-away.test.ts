import { mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { fixedWindow, memoryStore, type Limiter } from '@sluice/core';
import { createPolicies, managed, type Policies, type PolicySource } from '@sluice/managed';
import { startRedis, until } from '@sluice/testkit';
import { useManaged } from './use-managed.ts';

const { policies, limiter, connect, keep, warnings } = useManaged();

const apps = ['checkout'];
const timeoutMs = 60_000;
const of = (limit: number): ReturnType<typeof fixedWindow> => fixedWindow({ limit, window: '1h' });

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'sluice-snapshot-'));
});
afterEach(async () => {
  await rm(folder, { recursive: true });
});

/** A source that is away when the test says so. */
interface Flaky extends PolicySource {
  how: 'there' | 'rejects' | 'hangs';
}

let named = 0;

/** Over the policies in Redis; its name is in no other test. */
function flaky(over: Policies): Flaky {
  const { source } = (over as unknown as { policyCache: { source: PolicySource } }).policyCache;
  const through = async <T>(call: () => Promise<T>): Promise<T> => {
    if (flakySource.how === 'hangs') await new Promise(() => undefined);
    if (flakySource.how === 'rejects') throw new Error('the connection was reset');
    return call();
  };
  const overrides = source.overrides as NonNullable<typeof source.overrides>;
  const flakySource: Flaky = {
    how: 'there',
    name: `the source ${String(named++)}`,
    everyMs: 20,
    load: () => through(() => source.load()),
    overrides: {
      changes: (cursor) => through(() => overrides.changes(cursor)),
      read: (name) => through(() => overrides.read(name)),
    },
  };
  return flakySource;
}

const away = (source: PolicySource): string[] =>
  warnings.filter((warning) => warning.includes('SLUICE_POLICIES_AWAY') && warning.includes(`${String(source.name)} `));

function limiterOver(source: PolicySource, snapshotFile?: string): Limiter {
  const there = keep(createPolicies(source, { snapshotFile }));
  return limiter({ policy: managed('orders'), policies: there, store: memoryStore(), timeoutMs });
}

const limitsOf = async (orders: Limiter): Promise<number[]> =>
  Promise.all(['ann', 'bob', 'org-7:eve'].map(async (key) => (await orders.peek(key)).limit));

async function putAll(): Promise<Policies> {
  const here = policies();
  await here.put('orders', of(10), { apps });
  await here.override('orders', 'ann', of(50));
  await here.override('orders', { prefix: 'org-7:' }, of(20));
  return here;
}

describe('a source that goes away, and comes back', () => {
  it('does not stop decisions: what was read last decides, and a warning names it', async () => {
    const here = await putAll();
    const source = flaky(policies());
    const orders = limiterOver(source);
    await orders.consume('ann', 30);

    source.how = 'rejects';
    await until('the warning is given', () => away(source).length === 1);
    await here.override('orders', 'bob', of(70));
    await here.removeOverride('orders', 'ann');
    const whileAway = await limitsOf(orders);
    source.how = 'there';
    await until('the changes are heard of', async () => (await orders.peek('bob')).limit === 70);

    expect(whileAway).toEqual([50, 10, 20]);
    expect(await limitsOf(orders)).toEqual([10, 70, 20]);
    expect(await orders.consume('ann')).toMatchObject({ allowed: false, used: 30 });
    expect(away(source)[0]).toContain('that were read last are in force');
  });
});

describe('a source that is away at the start', () => {
  it.each(['rejects', 'hangs'] as const)('and %s: the copy in snapshotFile decides until it is back', async (how) => {
    const snapshotFile = join(folder, 'policies.jsonl');
    const here = await putAll();
    const first = keep(createPolicies(flaky(policies()), { snapshotFile }));
    const before = limiter({ policy: managed('orders'), policies: first, store: memoryStore(), timeoutMs });
    expect(await limitsOf(before)).toEqual([50, 10, 20]);
    await before.close();

    const source = flaky(policies());
    source.how = how;
    const orders = limiterOver(source, snapshotFile);
    await until('the copy counts', async () => (await decision(orders)).limit === 50);
    const fromFile = await limitsOf(orders);
    await here.override('orders', 'bob', of(70));
    source.how = 'there';
    await until('the source counts', async () => (await orders.peek('bob')).limit === 70);

    expect(fromFile).toEqual([50, 10, 20]);
    expect(away(source)[0]).toContain(snapshotFile);
    expect(await limitsOf(orders)).toEqual([50, 70, 20]);
  });

  it.each([
    ['that is cut off', '{"format":1}\n["orders",{"form'],
    ['whose lines are no records', '{"format":1}\nnull\n'],
    ['whose names are none', '{"format":1}\n[5,{}]\n'],
    ['of nothing', 'null\n'],
  ])('has no policies with a copy %s', async (_what, text) => {
    const snapshotFile = join(folder, 'policies.jsonl');
    await writeFile(snapshotFile, text);
    const source = flaky(policies());
    source.how = 'rejects';

    const orders = limiterOver(source, snapshotFile);

    await expect(orders.consume('ann')).rejects.toMatchObject({ message: expect.stringContaining('reset') });
    expect(away(source)).toEqual([]);
  });

  it('does not write its copy through a link that others have put into the folder', async () => {
    const [snapshotFile, other] = [join(folder, 'policies.jsonl'), join(folder, 'other')];
    await writeFile(other, 'of the user');
    for (const i of [0, 1]) await symlink(other, `${snapshotFile}.${String(process.pid)}.${String(i)}`);
    await putAll();
    const first = keep(createPolicies(flaky(policies()), { snapshotFile }));
    const orders = limiter({ policy: managed('orders'), policies: first, store: memoryStore(), timeoutMs });
    await orders.consume('ann');
    await orders.close();

    expect(await readFile(other, 'utf8')).toBe('of the user');
    expect(await readFile(snapshotFile, 'utf8')).toContain('orders:key:ann');
  });

  it('leaves a copy that only the user of the process can read, without who changed what and why', async () => {
    const snapshotFile = join(folder, 'policies.jsonl');
    const here = await putAll();
    await here.override('orders', 'bob', of(1), { by: 'eve', reason: 'abuse' });
    const first = keep(createPolicies(flaky(policies()), { snapshotFile }));
    const orders = limiter({ policy: managed('orders'), policies: first, store: memoryStore(), timeoutMs });
    await orders.consume('bob');
    await orders.close();

    const text = await readFile(snapshotFile, 'utf8');

    expect(text).toContain('orders:key:bob');
    expect(text).not.toContain('abuse');
  });
});

async function decision(orders: Limiter): Promise<{ limit: number }> {
  return orders.peek('ann').catch(() => ({ limit: -1 }));
}

describe('overrides that are gone from their source', () => {
  it('are not removed: the last known ones stay, with a warning, and those that are put then count', async () => {
    const server = await startRedis();
    try {
      const here = policies(connect(server.url));
      await here.put('lost-overrides', of(10), { apps });
      await here.override('lost-overrides', 'ann', of(50));
      const there = policies(connect(server.url));
      const orders = limiter({ policy: managed('lost-overrides'), policies: there, store: memoryStore(), timeoutMs });
      await orders.consume('ann');

      await connect(server.url).flushall();
      await until('the warning is given', () =>
        warnings.some((one) => one.includes('overrides of the managed policy lost')),
      );
      const kept = (await orders.peek('ann')).limit;
      await here.put('lost-overrides', of(10), { apps });
      await here.override('lost-overrides', 'bob', of(70));
      await until('the new one counts', async () => (await orders.peek('bob')).limit === 70);

      expect(kept).toBe(50);
      expect((await orders.peek('ann')).limit).toBe(50);
    } finally {
      await server.stop();
    }
  });
});
