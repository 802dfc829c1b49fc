import { fixedWindow, silenceWarnings } from '@sluice/express';
import { createPolicies, type Policies, type PolicySource } from '@sluice/core/managed';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { ConsulStub, until } from '@sluice/testkit';
import { consulSource, type ConsulSourceOptions } from '../src/consul-source.ts';

// A stub replaces Consul here, and has its faults. real-consul.test.ts runs on a real one, too.

silenceWarnings('SLUICE_POLICIES_LOST');
const hundred = fixedWindow({ limit: 100, window: '1m' });
const fifty = fixedWindow({ limit: 50, window: '1m' });
const apps = ['shop'];

let consul: ConsulStub;
const ends: (() => unknown)[] = [];
beforeEach(async () => {
  consul = await ConsulStub.start();
});
afterEach(async () => {
  await Promise.all(ends.splice(0).map((end) => end()));
  await consul.close();
});

function newSource(options: ConsulSourceOptions = {}): PolicySource {
  return consulSource({ address: consul.address, ...options });
}

function newPolicies(options?: ConsulSourceOptions): Policies {
  return createPolicies(newSource(options));
}

/** Watches; returns the number of changes reported so far. */
function watch(source: PolicySource): { readonly changes: () => number; readonly end: () => void } {
  let changes = 0;
  const end = source.watch?.(() => changes++) as () => void;
  ends.push(end);
  return { changes: () => changes, end };
}

/** Resolves when the first blocking query waits: all earlier changes have been reported. */
async function held(): Promise<void> {
  await until('a question is held back', () => consul.held === 1);
}

describe('policies in Consul', () => {
  it('are none when the folder does not exist', async () => {
    expect(await newPolicies().list()).toEqual([]);
    expect(await newPolicies().get('orders')).toBeUndefined();
    expect(await newPolicies().remove('orders')).toBe(false);
  });

  it('are visible to others after a put, by name', async () => {
    const put = await newPolicies().put('orders', hundred, { apps });
    await newPolicies().put('logins', fifty, { apps: ['shop', 'mail'] });

    expect(put.change).toBe('created');
    expect(await newPolicies().get('orders')).toMatchObject({
      policy: { limit: 100 },
      apps,
      changedAtMs: put.changedAtMs,
    });
    expect((await newPolicies().list()).map(({ name }) => name)).toEqual(['logins', 'orders']);
  });

  it('are a key each, in JSON', async () => {
    await newPolicies({ folder: '/limits/of-ours/' }).put('orders', hundred, { apps });

    const kept: unknown = JSON.parse(consul.get('limits/of-ours/orders') ?? '');

    expect(kept).toMatchObject({ format: 1, policy: { algorithm: 'fixedWindow', limit: 100 }, apps });
  });

  it('stay as they are, byte for byte, when the same is put again', async () => {
    await newPolicies().put('orders', hundred, { apps });
    const before = consul.get('sluice/policies/orders');
    const again = await newPolicies().put('orders', hundred, { apps });

    expect(again.change).toBe('unchanged');
    expect(consul.get('sluice/policies/orders')).toBe(before);
    expect(consul.asked.filter(({ which }) => which === 'writes')).toHaveLength(1);
  });

  it('are not overwritten by the slower of two writers: both changes are stored in the end', async () => {
    const [one, other] = [newPolicies(), newPolicies()];
    await Promise.all([one.put('orders', hundred, { apps }), other.put('orders', fifty, { apps })]);

    expect(consul.asked.filter(({ which }) => which === 'writes')).toHaveLength(3);
    expect(await one.get('orders')).toEqual(await other.get('orders'));
  });

  it('return false for a put that names an outdated record, and keep the current one', async () => {
    const source = newSource();
    const record = { format: 1, atMs: 1, life: 0, policy: hundred, apps } as const;

    const created = await source.put?.('orders', record, undefined);
    const createdTwice = await source.put?.('orders', { ...record, atMs: 2 }, undefined);
    const { orders: before } = await source.load();
    consul.put('sluice/policies/orders', 'of another program');
    const changed = await source.put?.('orders', { ...record, atMs: 2 }, before);

    expect([created, createdTwice, changed]).toEqual([true, false, false]);
    expect(consul.get('sluice/policies/orders')).toBe('of another program');
  });

  it('leave a tombstone when they are removed, and can be put again', async () => {
    const policies = newPolicies();
    await policies.put('orders', hundred, { apps });
    const removed = await policies.remove('orders');

    expect([removed, await policies.remove('orders')]).toEqual([true, false]);
    expect(await newPolicies().get('orders')).toBeUndefined();
    expect(consul.get('sluice/policies/orders')).not.toBeUndefined();
    expect((await newPolicies().put('orders', fifty, { apps })).change).toBe('created');
    expect(await newPolicies().get('orders')).toMatchObject({ policy: { limit: 50 } });
  });

  it.each(['no JSON', '5', 'null', '', '{"format":2,"atMs":9}'])(
    'can be beside keys that are not policies, and replace them: %j',
    async (text) => {
      consul.put('sluice/policies/', '');
      consul.put('sluice/policies/notes/today', 'milk');
      consul.put('sluice/policies-of-others', 'far away');
      consul.put('sluice/policies/foreign', text);
      consul.put('sluice/policies/__proto__', '{}');
      const policies = newPolicies();
      await policies.put('orders', hundred, { apps });
      const before = await policies.list();
      await policies.put('foreign', fifty, { apps });

      expect(Object.keys(await newSource().load()).sort()).toEqual(['__proto__', 'foreign', 'orders']);
      expect(before.map(({ name }) => name)).toEqual(['orders']);
      expect((await policies.list()).map(({ name }) => name)).toEqual(['foreign', 'orders']);
      expect(consul.get('sluice/policies/notes/today')).toBe('milk');
    },
  );

  it('are readable with the token only', async () => {
    consul.token = 'secret-token';

    await newPolicies({ token: 'secret-token' }).put('orders', hundred, { apps });
    const failure = await newPolicies({ token: 'wrong-token' }).list().catch(String);

    expect(failure).toContain('403 Permission denied');
    expect(failure).not.toContain('wrong-token');
  });
});

describe('a change', () => {
  it('is reported by the blocking query', async () => {
    const { changes } = watch(newSource());
    await held();
    const before = changes();
    await newPolicies().put('orders', hundred, { apps });

    await until('it is reported', () => changes() === before + 1);
    await held();
    const [last] = consul.asked.filter(({ which }) => which === 'blocking queries').slice(-1);
    expect(last).toMatchObject({ path: '/v1/kv/sluice/policies/', query: { recurse: 'true', wait: '30s' } });
  });

  it('in another folder is not reported', async () => {
    const { changes } = watch(newSource());
    consul.put('sluice/policies/orders', '{}');
    await held();
    const before = changes();
    consul.put('elsewhere/orders', '{}');
    consul.put('sluice/policies/orders', '{ }');

    await until('the second is reported', () => changes() > before);
    await held();
    expect(changes()).toBe(before + 1);
  });

  it('is reported after several answers without a change', async () => {
    const { changes } = watch(newSource({ waitMs: 20 }));
    const queries = (): number => consul.asked.filter(({ which }) => which === 'blocking queries').length;
    await until('it has asked again', () => queries() >= 3);
    const before = changes();
    consul.put('sluice/policies/orders', '{}');

    await until('it is reported', () => changes() === before + 1);
    expect(before).toBe(1);
  });

  it('is reported when the index goes back, as after a restored snapshot', async () => {
    for (let i = 0; i < 50; i++) consul.put('sluice/policies/orders', `{"i":${String(i)}}`);
    const { changes } = watch(newSource());
    await held();
    consul.restore({ 'sluice/policies/orders': '{"i":20}' });
    await until('it asks from 0', () => consul.asked.slice(1).some(({ query }) => query['index'] === '0'));
    await held();
    const before = changes();
    consul.put('sluice/policies/orders', '{"i":21}');

    await until('it is reported', () => changes() === before + 1);
  });

  it.each(['0', 'none of the kind'])(
    'is waited for from index 1 when the index is %j, without a busy loop',
    async (index) => {
      consul.sayIndex(index);
      watch(newSource());
      await until('it has asked again', () => consul.asked.length >= 4);

      expect(consul.asked.slice(0, 4).map(({ query }) => query['index'])).toEqual(['0', '1', '1', '1']);
    },
  );

  it('is not reported after the watch ends: the query is aborted', async () => {
    const { end, changes } = watch(newSource());
    await held();
    const before = changes();
    end();
    await until('nothing is held back', () => consul.held === 0);
    consul.put('sluice/policies/orders', '{}');
    const asked = consul.asked.length;
    await newPolicies().list();

    expect(consul.asked).toHaveLength(asked + 1);
    expect(changes()).toBe(before);
  });
});

describe('when Consul fails', () => {
  it.each([
    [{ status: 500, body: 'No cluster leader' }, '500 No cluster leader'],
    [{ status: 404, body: 'no such page' }, '404 no such page'],
    [{ status: 200, body: '<html>' }, '200 <html>'],
    ['hangs', 'no answer within 50 ms'],
    ['is cut', 'fetch failed'],
  ] as const)('a load rejects with the address and the reason: %j', async (fault, reason) => {
    const policies = newPolicies(fault === 'hangs' ? { timeoutMs: 50 } : {});
    consul.befall('reads', fault);

    const failure = await policies.list().catch((error: unknown) => error);

    expect(failure).toMatchObject({ code: 'SLUICE_STORE_FAILED' });
    expect(String(failure)).toContain(`Consul at ${consul.address}, GET /v1/kv/sluice/policies/: `);
    expect(String(failure)).toContain(reason);
    consul.befall('reads', undefined);
    expect(await until('it answers', () => policies.list())).toEqual([]);
  });

  it.each([{ status: 500, body: 'No cluster leader' }, 'hangs', 'is cut'] as const)(
    'a put rejects, and stores nothing: %j',
    async (fault) => {
      const policies = newPolicies({ timeoutMs: 1000 });
      consul.befall('writes', fault);

      await expect(policies.put('orders', hundred, { apps })).rejects.toThrow('PUT /v1/kv/sluice/policies/orders: ');

      consul.befall('writes', undefined);
      expect(await policies.list()).toEqual([]);
    },
  );

  it('an answer that is not a list of keys is a specific error', async () => {
    consul.sayIndex('7');
    consul.befall('reads', { status: 200, body: '{"Key":"sluice/policies/orders"}' });

    await expect(newSource().load()).rejects.toThrow(
      '/v1/kv/sluice/policies/?recurse=true answered no list of keys: {"Key"',
    );
  });

  it.each([{ status: 500, body: 'No cluster leader' }, 'is cut'] as const)(
    'a watch continues with growing pauses, and reports changes again afterwards: %j',
    async (fault) => {
      const { changes } = watch(newSource());
      await held();
      consul.befall('reads', fault);
      consul.befall('blocking queries', fault);
      await until('it has tried again', () => consul.asked.filter(({ which }) => which === 'reads').length >= 3);
      consul.befall('reads', undefined);
      consul.befall('blocking queries', undefined);
      await held();
      const before = changes();
      consul.put('sluice/policies/orders', '{}');

      await until('it is reported', () => changes() === before + 1);
    },
  );

  it('a watch aborts hanging queries, and sends new ones', async () => {
    const { changes } = watch(newSource({ waitMs: 20, timeoutMs: 50 }));
    await until('it has a report', () => changes() > 0);
    consul.befall('blocking queries', 'hangs');
    await until('it starts again', () => consul.asked.filter(({ which }) => which === 'reads').length >= 3);
    consul.befall('blocking queries', undefined);
    const before = changes();
    consul.put('sluice/policies/orders', '{}');

    await until('it is reported', () => changes() > before);
  });

  it.each(['ftp://127.0.0.1', 'http://ann:secret@127.0.0.1:8500', '127.0.0.1:8500'])(
    'an invalid address is rejected at once, without printing its password: %s',
    (address) => {
      const make = (): unknown => consulSource({ address });

      expect(make).toThrow('address must be the http or https URL of an agent; secrets go into token');
    },
  );
});
