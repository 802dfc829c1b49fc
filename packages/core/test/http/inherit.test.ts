import { describe, expect, it } from '@jest/globals';
import { createLimiter, fixedWindow, memoryStore } from '@sluice/core';
import { byAll, byUser, hasLimit, inheritOptions, namedByPlace } from '@sluice/core/http';

const policy = fixedWindow({ limit: 1, window: '1h' });
const [store, other, key] = [memoryStore(), memoryStore(), byUser()];
const onDenied = (): void => undefined;

describe('the options of an inner place', () => {
  it('inherit how requests are decided and answered, but neither the limit nor what belongs to it', () => {
    const shared = { store, timeoutMs: 5, skip: onDenied, deny: ['::1'], headers: 'draft-7', throw: true, maxPaced: 1 };
    const own = { policy, name: 'outer', shared: true, cost: 3, refund: 'on-success', limit: 1, window: '1m' };

    expect(inheritOptions({ ...shared, ...own, key }, { limit: 2 })).toEqual({ ...shared, key, limit: 2 });
  });

  it('count if they are set, also to false, and not if they are undefined', () => {
    const inner = { policy, cors: false, allow: [], headers: false, store: undefined };

    expect(inheritOptions({ cors: true, allow: ['::1'], headers: 'draft-7', store }, inner)).toEqual({
      ...inner,
      store,
    });
  });

  it.each<[string, object]>([
    ['key', { policy, key: byAll() }],
    ['onMissingKey', { policy, onMissingKey: 'shared' }],
    ['limits', { limits: [{ name: 'a', policy }] }],
  ])('inherit key and onMissingKey together, and not beside %s', (_what, inner) => {
    expect(inheritOptions({ key, onMissingKey: 'skip' }, inner)).toEqual(inner);
  });

  it('inherit nothing of a store beside a limiter, which has one', () => {
    const limiter = createLimiter({ policy });

    expect(inheritOptions({ store, onStoreError: 'deny', timeoutMs: 5, key }, { limiter })).toEqual({ key, limiter });
  });

  it('inherit the store of an outer limiter', () => {
    const limiter = createLimiter({ policy, store: other });

    expect(inheritOptions({ limiter }, { policy })).toEqual({ policy, store: other });
    expect(inheritOptions({ limiter }, { policy, store })).toEqual({ policy, store });
  });

  it.each(['allow', 'deny', 'throw'])('inherit no localShare beside onStoreError: %j', (onStoreError) => {
    expect(inheritOptions({ localShare: 0.5 }, { policy, onStoreError })).toEqual({ policy, onStoreError });
  });

  it('inherit no throw beside an onDenied, which it would bypass', () => {
    expect(inheritOptions({ throw: true }, { policy, onDenied })).toEqual({ policy, onDenied });
    expect(inheritOptions({ onDenied }, { policy, throw: true })).toEqual({ policy, onDenied, throw: true });
  });

  it('are rejected if they do not exist, and would be lost', () => {
    expect(() => inheritOptions({ store }, { polcy: policy })).toThrow('rateLimit has no option "polcy"');
    expect(inheritOptions({ hook: 'preHandler' }, { policy }, ['hook'])).toEqual({ policy, hook: 'preHandler' });
  });
});

describe('options', () => {
  it.each([{ limit: 5 }, { window: '1m' }, { policy }, { limits: [] }, { limiter: createLimiter({ policy }) }])(
    'define a limit: %p',
    (options) => {
      expect(hasLimit(options)).toBe(true);
    },
  );

  it('define none without one, and with undefined ones', () => {
    expect([{}, { store, key, name: 'a' }, { policy: undefined }].some(hasLimit)).toBe(false);
  });

  it.each([
    ['Orders.list', 'Orders.list'],
    ['GET /orders/:id', 'GET--orders--id'],
    ['42.#x', 'x'],
    ['日本', 'handler'],
    ['a'.repeat(99), 'a'.repeat(64)],
  ])('are named by their place %s: %s', (named, expected) => {
    expect(namedByPlace({ limit: 1 }, named)).toEqual({ limit: 1, name: expected });
  });

  it('keep their name, and that of their limiter', () => {
    const limiter = createLimiter({ policy });

    expect([namedByPlace({ name: 'own' }, 'A.b'), namedByPlace({ limiter }, 'A.b')]).toEqual([
      { name: 'own' },
      { limiter },
    ]);
  });
});
