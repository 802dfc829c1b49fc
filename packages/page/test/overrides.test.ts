import { describe, expect, it } from '@jest/globals';
import { createLimiter, fixedWindow, redisStore, type LimitEvent, type Limiter } from '@sluice/core';
import { createPolicies, managed, type Policies } from '@sluice/core/managed';
import { useRedis } from '@sluice/testkit';
import type { KeyState } from '../src/key-actions.ts';
import { ask, closing, lookUp, pageWith } from './serve-page.ts';

const redis = useRedis();
const why = { reason: 'a sale', by: 'ops' };

interface Shop {
  readonly limiter: Limiter;
  readonly policies: Policies;
  readonly made: ReturnType<typeof pageWith>;
  readonly log: LimitEvent[];
}

/** A limiter with a managed policy, and a page that shows it. */
async function openShop(): Promise<Shop> {
  await redis.admin.flushall();
  const store = redisStore(redis.admin, { prefix: 'shop' });
  const policies = createPolicies(store);
  await policies.put('orders', fixedWindow({ limit: 2, window: '1h' }), { apps: ['shop'] });
  const limiter = closing(
    createLimiter({ name: 'api', policy: managed('orders'), app: 'shop', store, timeoutMs: 60_000 }),
  );
  const log: LimitEvent[] = [];
  const made = pageWith({ limiters: [limiter], log: (change) => log.push(change) });
  await limiter.consume('ann');
  return { limiter, policies, made, log };
}

const stateOf = async (made: ReturnType<typeof pageWith>, key = 'ann'): Promise<KeyState> => {
  const [state] = await lookUp(made, key);
  return state as KeyState;
};

describe('an override of one key', () => {
  it('is set, in force for this key alone, and logged; what was used stays used', async () => {
    const { limiter, policies, made, log } = await openShop();
    const { id, managed } = await stateOf(made);
    const options = { ...managed?.options, limit: '500' };

    const done = await ask(made, 'override', { id, options, duration: '1d', ...why });

    expect(managed?.text).toBe('fixedWindow 2 per 1h');
    const override = { by: 'ops', reason: 'a sale', untilMs: expect.any(Number) };
    expect(done.json).toMatchObject({ id, managed: { text: 'fixedWindow 500 per 1h', override } });
    expect(await limiter.peek('ann')).toMatchObject({ limit: 500, used: 1 });
    expect((await limiter.peek('bob')).limit).toBe(2);
    expect(await policies.overrides('orders')).toMatchObject([{ target: 'ann', ...override }]);
    const numbers = { before: 'fixedWindow 2 per 1h', after: 'fixedWindow 500 per 1h for 1d' };
    expect(log).toMatchObject([{ ...why, what: 'override', key: 'ann', limit: 'api:orders', ...numbers }]);
  });

  it('is ended, and logged with the numbers before and after it', async () => {
    const { limiter, policies, made, log } = await openShop();
    await policies.override('orders', 'ann', fixedWindow({ limit: 7, window: '1h' }));
    const { id } = await stateOf(made);

    const done = await ask(made, 'end-override', { id, ...why });

    expect(done.json).toMatchObject({ id, managed: { text: 'fixedWindow 2 per 1h', override: null } });
    expect((await limiter.peek('ann')).limit).toBe(2);
    const change = { what: 'removeOverride', before: 'fixedWindow 7 per 1h', after: 'fixedWindow 2 per 1h' };
    expect(log).toMatchObject([change]);
  });

  it('stands among the denials of its key, and the changes for all, with who made it and why', async () => {
    const { limiter, policies, made } = await openShop();
    await limiter.consume('ann', 2);
    const { id, managed } = await stateOf(made);
    await ask(made, 'override', { id, options: { ...managed?.options, limit: '5' }, ...why });
    await policies.put('orders', fixedWindow({ limit: 3, window: '1h' }), { by: 'eve', reason: 'slow' });

    const { text } = await ask(made, 'key', { key: 'ann' }, { fields: { accept: 'text/html' } });

    const words = text.replaceAll(/<[^>]*>|\s+/g, ' ').replaceAll(/ +/g, ' ');
    expect(words).toMatch(
      / policy orders : .*3 per 1h for shop, by eve \(slow\) .* override ann of orders : .* denied once, 1 of 2 in/,
    );
    expect((await ask(made, 'live')).text).toContain('fixedWindow 3 per 1h, managed');
  });

  it('of a long key concerns that key', async () => {
    const { limiter, made } = await openShop();
    const key = 'k'.repeat(300);
    const { id } = await stateOf(made, key);

    await ask(made, 'override', { id, options: { limit: '9' }, ...why });

    expect((await limiter.peek(key)).limit).toBe(9);
  });

  it.each([
    ['a wrong number', 'override', { options: { limit: '-1' } }, 400],
    ['an unknown option', 'override', { options: { limits: '1' } }, 400],
    ['options that are no texts', 'override', { options: { limit: {} } }, 400],
    ['a length that is none', 'override', { duration: 'long' }, 400],
    ['no override to end', 'end-override', { options: undefined }, 409],
  ])('with %s nothing changes', async (_what, name, changed, status) => {
    const { limiter, made, log } = await openShop();
    const { id } = await stateOf(made);
    const change = { id, options: { limit: '9' }, ...why, ...changed };

    expect((await ask(made, name, change)).status).toBe(status);
    expect([(await limiter.peek('ann')).limit, log]).toEqual([2, []]);
  });

  it('needs a managed policy: numbers in code stay, and the answer says what to do', async () => {
    const limiter = closing(createLimiter({ name: 'fixed', policy: fixedWindow({ limit: 2, window: '1h' }) }));
    const made = pageWith({ limiters: [limiter] });
    const { id, managed: numbers } = await stateOf(made);

    const { status, text } = await ask(made, 'override', { id, options: { limit: '9' }, ...why });

    expect(numbers).toBeNull();
    expect([status, text]).toEqual([409, expect.stringContaining('give it a managed policy first')]);
  });
});

it('a page finds the keys that another process has shown, and takes no id whose text is not that of its key', async () => {
  const { limiter, made } = await openShop();
  const { id } = await stateOf(made);
  const other = pageWith({ limiters: [limiter] });
  const ref = JSON.parse(Buffer.from(id, 'base64url').toString()) as string[];
  const forged = Buffer.from(JSON.stringify([...ref.slice(0, 2), 'ann', 'bob'])).toString('base64url');

  for (const wrong of [forged, 'bm8gSlNPTg', 'e30'])
    expect((await ask(other, 'block', { id: wrong, duration: '1h', ...why })).status).toBe(404);
  expect((await ask(other, 'block', { id, duration: '1h', ...why })).json).toMatchObject({
    ...{ outcome: 'blocked', key: 'ann' },
  });
});
