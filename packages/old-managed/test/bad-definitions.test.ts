import { describe, expect, it } from '@jest/globals';
import {
  createLimiter,
  fixedWindow,
  memoryStore,
  redisStore,
  tokenBucket,
  type LimiterOptions,
  type Policy,
} from '@sluice/old-core';
import { createPolicies, managed, type Policies, type PutOptions } from '@sluice/old-managed';
import { until } from '@sluice/testkit';
import { useManaged } from './use-managed.ts';

const { redis, policies, limiter, warnings } = useManaged();

const hundred = fixedWindow({ limit: 100, window: '1h' });
const apps = ['checkout'];

describe('what cannot be put', () => {
  it.each([
    ['a name with a space', 'two words', hundred, { apps }, 'name'],
    ['a name that begins with #', '#revision', hundred, { apps }, 'name'],
    ['no name', '', hundred, { apps }, 'name'],
    ['a name that is too long', 'a'.repeat(65), hundred, { apps }, 'name'],
    ['no policy', 'orders', undefined, { apps }, 'policy'],
    ['a list of policies', 'orders', [hundred, hundred], { apps }, 'policy'],
    ['a reference to a policy', 'orders', managed('other'), { apps }, 'policy'],
    ['a policy of no known algorithm', 'orders', { algorithm: 'guess', limit: 1 }, { apps }, 'policy'],
    ['a limit below 0', 'orders', { ...hundred, limit: -1 }, { apps }, 'limit'],
    ['no applications', 'orders', hundred, {}, 'apps'],
    ['applications that are no list', 'orders', hundred, { apps: 'checkout' }, 'apps'],
    ['an application without a name', 'orders', hundred, { apps: ['a', ''] }, 'apps[1]'],
    ['an application that is a number', 'orders', hundred, { apps: [1] }, 'apps[0]'],
    ['an unknown carryOver', 'orders', hundred, { apps, carryOver: 'half' }, 'carryOver'],
    ['a dryRun that is no boolean', 'orders', hundred, { apps, dryRun: 'yes' }, 'dryRun'],
    ['an unknown option', 'orders', hundred, { apps, carryover: 'keep' }, 'carryover'],
  ])('%s is denied, with the field named, and nothing is written', async (_what, name, policy, options, field) => {
    const put = policies().put(name, policy as unknown as Policy, options as unknown as PutOptions);

    await expect(put).rejects.toMatchObject({ name: 'PolicyError', field });
    expect(await redis.admin.keys('*')).toEqual([]);
  });

  it('get and remove deny the same names, and remove an unknown option', async () => {
    const here = policies();

    await expect(here.get('two words')).rejects.toMatchObject({ name: 'PolicyError', field: 'name' });
    await expect(here.remove('#revision')).rejects.toMatchObject({ name: 'PolicyError', field: 'name' });
    await expect(here.remove('orders', { states: true } as object)).rejects.toMatchObject({ field: 'states' });
  });
});

describe('what is no source of policies', () => {
  it.each([
    ['nothing', undefined, { prefix: 'sluice' }, 'client'],
    ['a number', 42, { prefix: 'sluice' }, 'client'],
    ['a store in memory', memoryStore(), {}, 'source'],
    [
      'a store with a prefix beside it',
      redisStore('redis://127.0.0.1:1', { prefix: 'sluice' }),
      { prefix: 'shop' },
      'prefix',
    ],
    ['a URL without a prefix', 'redis://127.0.0.1:1', {}, 'prefix'],
    ['an empty prefix', 'redis://127.0.0.1:1', { prefix: '' }, 'prefix'],
    ['a prefix with braces', 'redis://127.0.0.1:1', { prefix: '{a}' }, 'prefix'],
    ['a prefix that is no text', 'redis://127.0.0.1:1', { prefix: 7 }, 'prefix'],
    ['an unknown option', 'redis://127.0.0.1:1', { prefx: 'a' }, 'prefx'],
  ])('%s is denied', (_what, source, options, field) => {
    expect(() => createPolicies(source as string, options as unknown as { prefix: string })).toThrow(
      expect.objectContaining({ name: 'PolicyError', field }),
    );
  });

  it('a client without a prefix is told the line to write', () => {
    // @ts-expect-error There is no prefix.
    expect(() => createPolicies('redis://127.0.0.1:1')).toThrow(
      /^createPolicies needs a prefix, the name of your application, .*: createPolicies\(client, \{ prefix: 'shop' \}\)/,
    );
  });

  it('one that only reads denies to be written, by a code', async () => {
    const here = policies({ load: () => Promise.resolve({}) });

    await expect(here.put('orders', hundred, { apps })).rejects.toMatchObject({ code: 'SLUICE_POLICIES_READ_ONLY' });
    expect(await here.put('orders', hundred, { apps, dryRun: true })).toMatchObject({ change: 'created' });
  });
});

describe('a limiter that cannot look its policy up', () => {
  const policy = managed('orders');
  const onRedis = (): Partial<LimiterOptions> => ({ store: redisStore('redis://127.0.0.1:1', { prefix: 'sluice' }) });

  it.each([
    ['has no app', () => ({ policy, ...onRedis() }), 'app'],
    ['has an empty app', () => ({ policy, app: '', ...onRedis() }), 'app'],
    ['counts in memory, and has no policies', () => ({ policy, app: 'checkout' }), 'policies'],
    [
      'is given policies that are none',
      () => ({ policy, app: 'checkout', policies: {} as Policies, ...onRedis() }),
      'policies',
    ],
    ['has it in a list', () => ({ policy: [policy, hundred], app: 'checkout', ...onRedis() }), 'policy'],
    ['has no app for an entry of its limits', () => ({ limits: [{ name: 'one', policy }], ...onRedis() }), 'app'],
    [
      'says else than allow or deny',
      () => ({ policy, app: 'a', onUnconfigured: 'pass', ...onRedis() }),
      'onUnconfigured',
    ],
  ])('%s: denied when it is made', (_what, options, field) => {
    expect(() => createLimiter(options() as unknown as LimiterOptions)).toThrow(
      expect.objectContaining({ name: 'PolicyError', field }),
    );
  });

  it('has no name of a policy that could be one', () => {
    expect(() => managed('two words')).toThrow(expect.objectContaining({ name: 'PolicyError', field: 'name' }));
  });
});

describe('a record that this release cannot follow', () => {
  const record = { format: 1, version: 7, policy: hundred, apps, carryOver: 'keep', changedAtMs: 1, earlier: [] };

  it.each([
    ['of-a-later-format', JSON.stringify({ ...record, format: 2 }), 'format 2'],
    [
      'of-an-unknown-kind',
      JSON.stringify({ ...record, policy: { algorithm: 'ofALaterRelease', limit: 5 } }),
      'known algorithms',
    ],
    ['with-a-limit-below-0', JSON.stringify({ ...record, policy: { ...hundred, limit: -1 } }), 'limit'],
    ['that-is-no-JSON', '{"format":1,', 'no record'],
    ['that-is-a-number', '5', 'no record'],
    ['that-is-null', 'null', 'no record'],
    ['that-is-a-list', '[1,2]', 'no record'],
    ['without-a-version', JSON.stringify({ ...record, version: undefined }), 'no record'],
    ['with-a-text-for-apps', JSON.stringify({ ...record, apps: 'checkout' }), 'no record'],
  ])('%s: concerns its own policy alone, which is unconfigured', async (name, text, why) => {
    await policies().put('orders', hundred, { apps });
    await redis.admin.hset('sluice:policies', name, text, '#revision', text);

    const strange = await limiter({ name: 'strange', policy: managed(name) }).consume('ann');
    const usual = await limiter({ name: 'usual', policy: managed('orders') }).consume('ann');

    expect(strange).toMatchObject({ allowed: false, outcome: 'unconfigured', policy: name });
    expect(warnings.filter((warning) => warning.includes(name))).toEqual([
      expect.stringMatching(new RegExp(`^SLUICE_POLICY_UNCONFIGURED.*checkout.*${why}`)),
    ]);
    expect(usual).toMatchObject({ allowed: true, remaining: 99 });
    expect((await policies().list()).map((policy) => policy.name)).toEqual(['orders']);
    expect(await policies().get(name)).toBeUndefined();
  });

  it.each([['{"format":1,'], ['null'], [JSON.stringify({ ...record, format: 2 })]])(
    '%s can be put again, and be removed',
    async (text) => {
      await redis.admin.hset('sluice:policies', 'orders', text, 'login', text, '#revision', text);

      const put = await policies().put('orders', hundred, { apps });
      const isRemoved = await policies().remove('login');

      expect(put.change).toBe('created');
      expect((await limiter({ policy: managed('orders') }).consume('ann')).remaining).toBe(99);
      expect(isRemoved).toBe(true);
      expect((await policies().list()).map(({ name }) => name)).toEqual(['orders']);
    },
  );

  it('one of a later version, put while the process runs, makes its requests unconfigured, and is followed back', async () => {
    const here = policies();
    await here.put('orders', hundred, { apps });
    const orders = limiter({ policy: managed('orders') });
    await orders.consume('ann');
    const { version = 0 } = (await here.get('orders')) ?? {};
    const later = { ...record, format: 2, version: version + 1 };

    await redis.admin.hset('sluice:policies', 'orders', JSON.stringify(later), '#revision', 'other');
    await redis.admin.publish('sluice:policies', 'orders');
    await until('the process hears of it', async () => (await orders.peek('ann')).outcome === 'unconfigured');
    await here.put('orders', tokenBucket({ capacity: 5, refill: 1, every: '1h' }), { apps });
    await until('the process hears of that, too', async () => (await orders.peek('bob')).limit === 5);
  });
});
