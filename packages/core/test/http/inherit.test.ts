import { describe, expect, it } from '@jest/globals';
import { createLimiter, fixedWindow, memoryStore } from '@sluice/core';
import { byAll, byUser, inheritOptions, namedByPlace } from '@sluice/core/http';

const policy = fixedWindow({ limit: 1, window: '1h' });
const [store, key] = [memoryStore(), byUser()];
const limiter = createLimiter({ policy, store });
const onDenied = (): void => undefined;
const limits = [{ name: 'a', policy }];

describe('the options of an inner place', () => {
  it.each<[string, object, object, object]>([
    [
      'how requests are decided and answered, but not the limit, and not what belongs to it',
      { store, timeoutMs: 5, deny: ['::1'], key, name: 'a', shared: true, cost: 3, refund: 'on-success', limit: 1 },
      { limit: 2 },
      { store, timeoutMs: 5, deny: ['::1'], key, limit: 2 },
    ],
    ['what they do not set', { cors: true, headers: 'draft-7' }, { cors: false, allow: [] }, { headers: 'draft-7' }],
    ['what they set to undefined', { store, key }, { policy, store: undefined, key: undefined }, { store, key }],
    ['no onMissingKey beside a key', { key, onMissingKey: 'skip' }, { policy, key: byAll() }, {}],
    ['no key beside an onMissingKey', { key, onMissingKey: 'skip' }, { policy, onMissingKey: 'deny' }, {}],
    ['no key beside limits', { key, onMissingKey: 'skip' }, { limits }, {}],
    ['nothing of a store beside a limiter', { store: memoryStore(), timeoutMs: 5, key }, { limiter }, { key }],
    ['the store of a limiter', { limiter, key }, { policy }, { store, key }],
    ['no localShare beside onStoreError: "deny"', { localShare: 0.5 }, { policy, onStoreError: 'deny' }, {}],
    ['no throw beside an onDenied, which it would bypass', { throw: true }, { policy, onDenied }, {}],
    ['an onDenied beside a throw', { onDenied }, { policy, throw: true }, { onDenied }],
    ['what the adapter reads itself', { hook: 'preHandler' }, { policy }, { hook: 'preHandler' }],
  ])('inherit %s', (_what, outer, inner, inherited) => {
    expect(inheritOptions(outer, inner, ['hook'])).toEqual({ ...inner, ...inherited });
  });
});

describe('options', () => {
  it.each([
    ['GET /orders/:id', 'GET--orders--id'],
    ['42.#x', 'x'],
    ['日本', 'handler'],
    ['a'.repeat(99), 'a'.repeat(64)],
  ])('at %s without a name are named %s', (at, name) => {
    expect([{}, { name: 'own' }, { limiter }].map((given) => namedByPlace(given, at))).toEqual([
      ...[{ name }, { name: 'own' }, { limiter }],
    ]);
  });
});
