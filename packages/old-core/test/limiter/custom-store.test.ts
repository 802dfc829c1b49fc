import { describe, expect, it } from '@jest/globals';
import { createLimiter, fixedWindow, type Part, type Store, type StoreRequest } from '@sluice/old-core';
import { evaluate, type KeyState } from '@sluice/old-core/spi';
import { lines, testEnforcer } from '@sluice/testkit';

/** A store as a user writes one: it keeps what was asked, and does not know when units come back. */
function customStore(): { store: Store; parts: Part[] } {
  const states = new Map<string, KeyState>();
  const parts: Part[] = [];
  const perform = (request: StoreRequest): ReturnType<typeof evaluate>['answer'] => {
    const own = 'parts' in request ? request.parts : [request.part];
    parts.push(...own);
    const keys = own.map(({ limit, subject }): KeyState => {
      const key = states.get(subject) ?? { blockedUntilMs: 0, states: limit.policies.map(() => undefined) };
      states.set(subject, key);
      return key;
    });
    const { answer } = evaluate(request, keys, Date.now());
    return {
      ...answer,
      parts: answer.parts.map((part) => ({
        ...part,
        policies: part.policies.map((one) => ({ ...one, isResetKnown: false as const })),
      })),
    };
  };
  return { store: { source: 'remote', perform: (requests) => requests.map(perform) }, parts };
}

const policy = fixedWindow({ limit: 5, window: '1h' });
const keyAndSubject = ({ key, subject }: Part): readonly unknown[] => [key, subject];

describe('a store of a user', () => {
  it.each(['short', 'x'.repeat(300), '#begins with a hash'])(
    'is given the key as the caller wrote it, beside the encoded one: %s',
    async (key) => {
      const { store, parts } = customStore();
      const limiter = createLimiter({ policy, store });

      const decision = await limiter.consume(key, 2);
      await limiter.peek(key);
      await limiter.refund(decision);
      await limiter.refund(key);
      await limiter.charge(key, 1);
      await limiter.block(key, '1s', { reset: true });
      await limiter.unblock(key);
      await limiter.reset(key);

      const encoded = key === 'short' ? key : (expect.stringMatching(/^#[\w-]{22}$/) as unknown);
      expect(parts.map(keyAndSubject)).toEqual(Array.from({ length: 8 }, () => [key, encoded]));
    },
  );

  it('is given the key of each limit', async () => {
    const { store, parts } = customStore();
    const limiter = createLimiter({
      limits: [
        { name: 'ip', policy },
        { name: 'user', policy },
      ] as const,
      store,
    });

    await limiter.consume({ ip: '::1', user: '#ann' });

    expect(parts.map(({ key }) => key)).toEqual(['::1', '#ann']);
  });

  it('is given the keys that are read from requests', async () => {
    const { store, parts } = customStore();
    const long = 'k'.repeat(300);

    await testEnforcer({ policy, store, key: () => long })();
    await testEnforcer({ limits: [{ name: 'one', policy, key: () => long }], store, name: 'several' })();

    expect(parts.map(({ key }) => key)).toEqual([long, long]);
  });

  it('leaves t out of the fields where it does not know the reset', async () => {
    const enforce = testEnforcer({ policy, store: customStore().store, key: () => 'key', name: 'own' });

    expect(lines(await enforce())).toEqual(['RateLimit-Policy: "own";q=5;w=3600', 'RateLimit: "own";r=4']);
  });
});
