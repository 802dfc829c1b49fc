import { describe, expect, it } from '@jest/globals';
import { createLimiter, fixedWindow, redisStore, type Store } from '@sluice/old-core';
import { createPolicies, managed, type Policies } from '@sluice/old-managed';
import { useManaged } from './use-managed.ts';

const { redis, policies, keep, connect } = useManaged();

const ten = fixedWindow({ limit: 10, window: '1h' });
const apps = ['checkout'];

describe('a limiter whose options do not go together with a managed policy', () => {
  const remote: Store = { source: 'remote', perform: () => [] };
  it('has them from another source alone, where it counts behind a service', () => {
    expect(() => createPolicies(remote)).toThrow('a remoteStore keeps no policies');
    expect(() => createLimiter({ policy: managed('orders'), app: 'shop', store: remote })).toThrow(
      'name another source with policies: createPolicies(source)',
    );
    const policies = createPolicies({ load: () => Promise.resolve({}) });
    expect(() => createLimiter({ policy: managed('orders'), app: 'shop', policies, store: remote })).not.toThrow();
  });

  it('is denied with a copy of a reference, which does not carry what looks the policy up', () => {
    const copied = JSON.parse(JSON.stringify(managed('orders'))) as ReturnType<typeof managed>;

    expect(() =>
      createLimiter({ app: 'checkout', policy: copied, store: redisStore(redis.client, { prefix: 'sluice' }) }),
    ).toThrow(
      expect.objectContaining({
        name: 'PolicyError',
        field: 'policy',
        message: expect.stringContaining('must be a policy made by') as unknown,
      }),
    );
  });

  it.each([['x'], [{}], [null], [() => undefined], [{ load: () => Promise.resolve({}) }]])(
    'is denied with policies: %p, which createPolicies did not make, also where nothing is managed',
    (given) => {
      const wrong = given as unknown as Policies;

      expect(() => createLimiter({ policy: ten, policies: wrong })).toThrow(
        expect.objectContaining({ name: 'PolicyError', field: 'policies' }),
      );
      expect(() =>
        createLimiter({
          policy: managed('orders'),
          app: 'checkout',
          policies: wrong,
          store: redisStore('redis://127.0.0.1:1', { prefix: 'sluice' }),
        }),
      ).toThrow(expect.objectContaining({ name: 'PolicyError', field: 'policies' }));
    },
  );
});

describe('an edit over several limits, of which some are not there', () => {
  const several = (onUnconfigured: 'allow' | 'deny') =>
    keep(
      createLimiter({
        limits: [
          { name: 'gone', policy: managed('nowhere') },
          { name: 'kept', policy: managed('orders') },
          { name: 'plain', policy: ten },
        ],
        onUnconfigured,
        app: 'checkout',
        store: redisStore(connect(), { prefix: 'sluice' }),
        onStoreError: 'throw',
        timeoutMs: 10_000,
      }),
    );
  const keys = { gone: 'ann', kept: 'ann', plain: 'ann' };

  it('allow: resets, blocks and unblocks the others', async () => {
    await policies().put('orders', ten, { apps });
    const limits = several('allow');
    await limits.consume(keys, 4);

    await limits.reset(keys);
    const reset = await limits.peek(keys);
    await limits.block(keys, '1h');
    const blocked = await limits.peek(keys);
    await limits.unblock(keys);

    expect(reset.policies.map(({ name, remaining }) => [name, remaining])).toEqual([
      ['kept', 10],
      ['plain', 10],
    ]);
    expect(blocked).toMatchObject({ allowed: false, outcome: 'blocked' });
    expect(await limits.consume(keys)).toMatchObject({ allowed: true, remaining: 9 });
  });

  it('allow: rejects where nothing is left to be done', async () => {
    const limits = several('allow');

    await expect(limits.reset({ gone: 'ann' })).rejects.toMatchObject({ code: 'SLUICE_POLICY_UNCONFIGURED' });
  });

  it('deny: rejects, and resets none', async () => {
    await policies().put('orders', ten, { apps });
    const patient = several('allow');
    await patient.consume(keys, 4);
    await patient.close();
    const before = await Promise.all((await redis.admin.keys('sluice:{*')).sort().map((key) => redis.admin.get(key)));

    await expect(several('deny').reset(keys)).rejects.toMatchObject({ code: 'SLUICE_POLICY_UNCONFIGURED' });

    const after = await Promise.all((await redis.admin.keys('sluice:{*')).sort().map((key) => redis.admin.get(key)));
    expect(after).toEqual(before);
    expect(after).toHaveLength(2);
  });
});
