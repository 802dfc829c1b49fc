import { describe, expect, it } from '@jest/globals';
import { createLimiter, fixedWindow, redisStore, type Limiter } from '@sluice/old-core';
import { createPolicies, managed } from '@sluice/old-managed';
import type { PageChange } from '@sluice/page';
import { until, useRedis } from '@sluice/testkit';
import type { KeyState } from '../src/key-actions.ts';
import { ask, pageWith, useCleanUp } from './serve-page.ts';

const later = useCleanUp();
const redis = useRedis();
const why = { reason: 'a sale', by: 'ops' };

/** A limiter with a managed policy, and a page that shows it. */
async function shop(): Promise<{ limiter: Limiter; made: ReturnType<typeof pageWith>; log: PageChange[] }> {
  await redis.admin.flushall();
  const store = redisStore(redis.admin, { prefix: 'sluice' });
  await createPolicies(store).put('orders', fixedWindow({ limit: 2, window: '1h' }), { apps: ['shop'] });
  const options = { name: 'api', policy: managed('orders'), app: 'shop', store, timeoutMs: 60_000 } as const;
  const limiter: Limiter = createLimiter(options);
  later(() => limiter.close());
  const log: PageChange[] = [];
  const made = pageWith({ limiters: [limiter], log: (change) => log.push(change) });
  await limiter.consume('ann');
  return { limiter, made, log };
}

const stateOf = async (made: ReturnType<typeof pageWith>, key = 'ann'): Promise<KeyState> => {
  const [state] = (await ask(made, 'key', { key })).json as readonly KeyState[];
  return state as KeyState;
};

describe('an override of one key', () => {
  it('is set, in force for this key alone, and logged; what was used stays used', async () => {
    const { limiter, made, log } = await shop();
    const { id, managed: numbers } = await stateOf(made);
    const options = { ...numbers?.options, limit: '500' };

    const done = await ask(made, 'override', { id, options, before: numbers?.text, duration: '1d', ...why });

    expect(numbers?.text).toBe('fixedWindow 2 per 1h');
    expect(done.json).toMatchObject({ id, managed: { text: 'fixedWindow 500 per 1h' } });
    expect(await limiter.peek('ann')).toMatchObject({ limit: 500, used: 1 });
    expect((await limiter.peek('bob')).limit).toBe(2);
    const [override] = await createPolicies(redis.admin, { prefix: 'sluice' }).overrides('orders');
    expect(override).toMatchObject({ target: 'ann', by: 'ops', reason: 'a sale', untilMs: expect.any(Number) });
    expect(log).toEqual([
      {
        ...{ ...why, action: 'set override', target: 'ann of api', atMs: expect.any(Number) },
        detail: 'fixedWindow 2 per 1h -> fixedWindow 500 per 1h for 1d',
      },
    ]);
    expect((await stateOf(made)).managed).toMatchObject({
      text: 'fixedWindow 500 per 1h',
      override: { by: 'ops', reason: 'a sale', untilMs: override?.untilMs },
    });
  });

  it('is ended, and logged with the numbers before and after it', async () => {
    const { limiter, made, log } = await shop();
    await createPolicies(redis.admin, { prefix: 'sluice' }).override(
      'orders',
      'ann',
      fixedWindow({ limit: 7, window: '1h' }),
    );
    await until('the limiter follows', async () => (await limiter.peek('ann')).limit === 7);
    const { id, managed: numbers } = await stateOf(made);

    const done = await ask(made, 'end-override', { id, before: numbers?.text, ...why });

    expect(numbers?.text).toBe('fixedWindow 7 per 1h');
    expect(done.json).toMatchObject({ id, managed: { text: 'fixedWindow 2 per 1h', override: null } });
    expect((await limiter.peek('ann')).limit).toBe(2);
    expect(log.map(({ action, detail }) => [action, detail])).toEqual([
      ['end override', 'fixedWindow 7 per 1h -> fixedWindow 2 per 1h'],
    ]);
    expect((await stateOf(made)).managed).toMatchObject({ text: 'fixedWindow 2 per 1h', override: null });
  });

  it('of a long key concerns that key', async () => {
    const { limiter, made } = await shop();
    const key = 'k'.repeat(300);
    await limiter.consume(key);
    const { id } = await stateOf(made, key);
    const change = { id, options: { limit: '9' }, before: 'fixedWindow 2 per 1h', ...why };

    expect((await ask(made, 'override', change)).status).toBe(200);
    expect((await limiter.peek(key)).limit).toBe(9);
  });

  it('is not set when the numbers are others than the operator saw', async () => {
    const { limiter, made, log } = await shop();
    const { id } = await stateOf(made);
    const change = { id, options: { limit: '9' }, before: 'fixedWindow 1 per 1h', ...why };

    const { status, text } = await ask(made, 'override', change);

    expect([status, text]).toEqual([409, expect.stringContaining('they are fixedWindow 2 per 1h now')]);
    expect((await limiter.peek('ann')).limit).toBe(2);
    expect(log).toEqual([]);
  });

  it.each([
    ['a wrong number', 'override', { options: { limit: '-1' } }, 400],
    ['an unknown option', 'override', { options: { limits: '1' } }, 400],
    ['a length that is none', 'override', { options: { limit: '9' }, duration: 'long' }, 400],
    ['a length above a year', 'override', { options: { limit: '9' }, duration: '400d' }, 400],
    ['no reason', 'override', { options: { limit: '9' }, reason: '' }, 400],
    ['no name', 'override', { options: { limit: '9' }, by: undefined }, 400],
    ['an unknown field', 'override', { options: { limit: '9' }, until: 1 }, 400],
    ['an id of another page', 'override', { options: { limit: '9' }, id: 'A'.repeat(80) }, 404],
    ['no override to end', 'end-override', {}, 409],
  ])('with %s nothing changes', async (_what, name, changed, status) => {
    const { limiter, made, log } = await shop();
    const { id } = await stateOf(made);
    const change = { id, before: 'fixedWindow 2 per 1h', ...why, ...changed };

    expect((await ask(made, name, change)).status).toBe(status);
    expect((await limiter.peek('ann')).limit).toBe(2);
    expect(log).toEqual([]);
  });

  it('needs a managed policy: numbers in code stay, and the answer says what to do', async () => {
    const limiter = createLimiter({ name: 'fixed', policy: fixedWindow({ limit: 2, window: '1h' }) });
    later(() => limiter.close());
    const made = pageWith({ limiters: [limiter] });
    await limiter.consume('ann');
    const state = await stateOf(made);

    const { status, text } = await ask(made, 'override', { id: state.id, options: { limit: '9' }, ...why });

    expect(state.managed).toBeNull();
    expect([status, text]).toEqual([409, expect.stringContaining('make it a managed policy')]);
  });
});

describe('a page that shares its secret with another process', () => {
  it('finds the keys that the other one has shown; with another secret it does not', async () => {
    const { limiter, made } = await shop();
    await limiter.consume('ann', 2);
    const same = pageWith({ limiters: [limiter] });
    const other = pageWith({ limiters: [limiter], secret: 'another' });
    const { id } = await stateOf(made);
    const block = { id, duration: '1h', ...why };

    expect((await ask(other, 'block', block)).status).toBe(404);
    expect((await ask(same, 'block', block)).json).toMatchObject({ outcome: 'blocked', key: 'ann' });
    expect((await limiter.peek('ann')).outcome).toBe('blocked');
  });

  it('shows ids that hide the key', async () => {
    const { made } = await shop();
    const { id } = await stateOf(made);

    expect(Buffer.from(id, 'base64url').toString('latin1')).not.toContain('ann');
    expect((await stateOf(made)).id).toBe(id);
  });
});
