import { describe, expect, it } from '@jest/globals';
import { byAll, byUser } from '@sluice/old-http';
import { createLimiter, fixedWindow, memoryStore, type Store } from '@sluice/old-core';
import { hasLimit, inheritOptions, outermost } from '@sluice/old-http/spi';

const policy = fixedWindow({ limit: 5, window: '1h' });
const store = memoryStore();
const other = memoryStore();
const key = byUser();
const hook = (): void => {};
const yes = (): boolean => true;

describe('the options of a place inside another', () => {
  it('take over how requests are decided about and answered', () => {
    const how = {
      ...{ store, onStoreError: 'deny', timeoutMs: 50, skip: yes, allow: ['::1'], deny: ['10.0.0.1'], mode: 'report' },
      ...{ headers: 'draft-7', cors: true, maxPaced: 3, onDenied: hook, onDecision: hook, throw: false },
      ...{ key, onMissingKey: 'skip' },
    };

    expect(inheritOptions(how, { policy })).toEqual({ ...how, policy });
  });

  it('never take over what the limit is, its name, its cost or its refunds', () => {
    const limit = {
      name: 'app',
      shared: true,
      policy,
      limit: 5,
      window: '1h',
      limits: [],
      cost: 2,
      refund: 'on-success',
    };

    expect(inheritOptions({ ...limit, store }, { limit: 1, window: '1m' })).toEqual({ store, limit: 1, window: '1m' });
  });

  it('say for themselves what they say', () => {
    const outer = { store, headers: 'draft-7', key, skip: yes, mode: 'report', cors: true };
    const inner = { policy, store: other, headers: false, key: byAll(), mode: 'enforce', cors: false, allow: [] };

    expect(inheritOptions(outer, inner)).toEqual({ ...inner, skip: yes });
  });

  it('say nothing by saying undefined', () => {
    const inner = { policy, store: undefined, key: undefined, headers: undefined, onStoreError: undefined };

    expect(inheritOptions({ store, key, headers: 'draft-7', onStoreError: 'allow' }, inner)).toEqual({
      ...{ policy, store, key, headers: 'draft-7', onStoreError: 'allow' },
    });
  });

  it.each<[string, object, object]>([
    ['a key', { key: byAll() }, {}],
    ['what to do without one', { onMissingKey: 'shared' }, {}],
  ])('take over key and onMissingKey together: not beside %s', (_what, inner, taken) => {
    expect(inheritOptions({ key, onMissingKey: 'skip' }, { policy, ...inner })).toEqual({ policy, ...inner, ...taken });
  });

  it('take over no key for limits with keys of their own', () => {
    const limits = [{ name: 'a', policy }];

    expect(inheritOptions({ store, key, onMissingKey: 'skip' }, { limits })).toEqual({ store, limits });
  });

  it('take over nothing of a store for a limiter that is handed in, which has one', () => {
    const limiter = createLimiter({ name: 'inner', policy });

    expect(inheritOptions({ store, onStoreError: 'deny', timeoutMs: 5, key }, { limiter })).toEqual({ key, limiter });
  });

  it('take over the store of a limiter that was handed in outside', () => {
    const limiter = createLimiter({ name: 'outer', policy, store: other });

    expect(inheritOptions({ limiter, key }, { policy })).toEqual({ store: other, key, policy });
    expect(inheritOptions({ limiter }, { policy, store })).toEqual({ store, policy });
  });

  it('answer by themselves where they say how, though the outer one throws', () => {
    const onDenied = (): void => {};

    expect(inheritOptions({ throw: true }, { policy, onDenied })).toEqual({ policy, onDenied });
    expect(inheritOptions({ throw: true }, { policy, onDenied, throw: true })).toEqual({
      policy,
      onDenied,
      throw: true,
    });
    expect(inheritOptions({ onDenied }, { policy, throw: true })).toEqual({ policy, onDenied, throw: true });
  });

  it('change neither of the two that they are made of', () => {
    const [outer, inner] = [Object.freeze({ store, key }), Object.freeze({ policy })];

    inheritOptions(outer, inner);

    expect([Object.keys(outer), Object.keys(inner)]).toEqual([['store', 'key'], ['policy']]);
  });
});

describe('the outermost options', () => {
  it('have a store, for all inside to take over', () => {
    const options: { store?: Store } = outermost<{ policy: typeof policy; store?: Store }>({ policy });

    const inner = inheritOptions<{ policy: typeof policy; store?: Store }>(options, { policy });

    expect(options.store?.source).toBe('memory');
    expect(inner.store).toBe(options.store);
  });

  it('keep the store or the limiter that they say', () => {
    const limiter = createLimiter({ policy });

    expect(outermost({ policy, store }).store).toBe(store);
    expect(outermost({ limiter })).toEqual({ limiter });
  });
});

describe('a limit', () => {
  it.each([{ limit: 5 }, { window: '1m' }, { policy }, { limits: [] }, { limiter: createLimiter({ policy }) }])(
    'is said by %p',
    (options) => {
      expect(hasLimit(options)).toBe(true);
    },
  );

  it.each([{}, { store }, { key, skip: yes, name: 'a', cost: 2 }, { policy: undefined, limits: undefined }])(
    'is not said by %p',
    (options) => {
      expect(hasLimit(options)).toBe(false);
    },
  );
});
