import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { fixedWindow, redisStore, type RedisClient, type Store } from '@sluice/old-core';
import { keySuffixOf, namePolicies } from '@sluice/old-core/spi';

const policies = namePolicies(fixedWindow({ limit: 5, window: '1h' }), 'loads');
const limit = { policies, keySuffix: keySuffixOf('loads', policies) };

beforeEach(() => {
  jest.useFakeTimers({ doNotFake: ['setImmediate', 'nextTick', 'queueMicrotask', 'Date'] });
});
afterEach(() => {
  jest.useRealTimers();
});

/** A client whose server knows no script until a test lets one in. */
function forgetful(): { readonly client: RedisClient; readonly sent: string[]; readonly replies: (() => void)[] } {
  const sent: string[] = [];
  const replies: (() => void)[] = [];
  let isKnown = false;
  const reply = (): [number, null] => [1_795_262_400_000, null];
  return {
    sent,
    replies,
    client: {
      evalsha: async () => {
        sent.push('sha1');
        await Promise.resolve();
        if (!isKnown) throw new Error('NOSCRIPT No matching script');
        return reply();
      },
      eval: async () => {
        sent.push('source');
        await new Promise<void>((resolve) => replies.push(resolve));
        isKnown = true;
        return reply();
      },
    },
  };
}

const consume = async (store: Store, subject: string): Promise<unknown> =>
  store.perform([{ op: 'consume', parts: [{ limit, subject, cost: 1 }] }]);
const turn = async (): Promise<void> => new Promise(setImmediate);

describe('a script that a server does not know', () => {
  it('is sent by one of several calls, and the others follow when it is there', async () => {
    const { client, sent, replies } = forgetful();
    const store = redisStore(client, { prefix: 'sluice', check: false });
    const calls = ['ann', 'bob', 'cid'].map((subject) => consume(store, subject));
    await turn();
    expect(sent).toEqual(['sha1', 'sha1', 'sha1', 'source']);

    replies[0]?.();
    await Promise.all(calls);

    expect(sent.slice(4)).toEqual(['sha1', 'sha1']);
  });

  it('is sent again after a second without a reply, so that no call waits for one that never comes', async () => {
    const { client, sent, replies } = forgetful();
    const store = redisStore(client, { prefix: 'sluice', check: false });
    void consume(store, 'ann');
    await turn();
    jest.advanceTimersByTime(999);
    void consume(store, 'bob');
    await turn();
    jest.advanceTimersByTime(1);
    const late = consume(store, 'cid');
    await turn();

    replies[1]?.();
    await late;

    expect(sent).toEqual(['sha1', 'source', 'sha1', 'sha1', 'source']);
  });

  it('costs each call three sendings at most where the server denies EVAL', async () => {
    const sent: string[] = [];
    const client: RedisClient = {
      evalsha: () => {
        sent.push('sha1');
        return Promise.reject(new Error('NOSCRIPT No matching script'));
      },
      eval: () => {
        sent.push('source');
        return Promise.reject(new Error('NOPERM this user may not run eval'));
      },
    };
    const store = redisStore(client, { prefix: 'sluice', check: false });
    const calls = Array.from({ length: 100 }, async (_, i) => consume(store, String(i)));

    const errors = await Promise.all(calls.map(async (call) => call.catch((error: unknown) => String(error))));

    expect(errors.every((error) => /NOPERM/.test(String(error)))).toBe(true);
    expect(sent.length).toBeLessThanOrEqual(300);
  });
});
