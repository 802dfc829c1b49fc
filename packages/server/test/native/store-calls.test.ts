import { describe, expect, it } from '@jest/globals';
import { fixedWindow, memoryStore, type Limit, type Store, type StoreCall, type StoreRequest } from '@sluice/old-core';
import {
  isFastPathEligible,
  keySuffixOf,
  namePolicies,
  type BatchAnswer,
  type CoalescedRequests,
} from '@sluice/old-core/spi';
import { until } from '@sluice/testkit';
import { StoreCalls } from '../../src/native/frames/store-calls.ts';

function limitOf(name: string, limit = 5): Limit {
  const policies = namePolicies(fixedWindow({ limit, window: '1h' }), name);
  const own = { policies, keySuffix: keySuffixOf(name, policies) };
  return { ...own, fastPathEligible: isFastPathEligible(own) };
}

const limit = limitOf('one');
const keys = (...subjects: readonly string[]): CoalescedRequests[] =>
  subjects.map((subject) => ({ limit, subject, runs: undefined }));
const reset = (subject: string): StoreRequest => ({ op: 'reset', part: { limit, subject, cost: 0 } });

interface Watched {
  readonly calls: StoreCalls;
  /** What each call of the store was, in order. */
  readonly sent: (readonly string[])[];
  readonly made: StoreCall[];
}

function watched(answer: () => Promise<void> = () => Promise.resolve()): Watched {
  const sent: (readonly string[])[] = [];
  const made: StoreCall[] = [];
  const store = {
    source: 'redis',
    async perform(requests: readonly StoreRequest[], call: StoreCall) {
      sent.push(requests.map((request) => `${request.op} ${'part' in request ? request.part.subject : ''}`));
      made.push(call);
      await answer();
      return requests.map((_, i) => ({ atMs: i + 1, parts: [] }));
    },
    async performBatch(batch: readonly CoalescedRequests[], call: StoreCall): Promise<BatchAnswer> {
      sent.push(batch.map(({ subject }) => subject));
      made.push(call);
      await answer();
      return { atMs: 7, keys: batch.map((_, i) => ({ blockedUntilMs: i, states: [undefined] })) };
    },
  } as unknown as Store;
  return { calls: StoreCalls.of(store), sent, made };
}

const inFuture = (): number => performance.now() + 10_000;

async function batch(
  { calls }: Watched,
  given: readonly CoalescedRequests[],
  endMs = inFuture(),
): Promise<BatchAnswer> {
  return new Promise((resolve, reject) => {
    calls.performBatch(given, endMs, (answer) => {
      if (answer instanceof Error) reject(answer);
      else resolve(answer);
    });
  });
}

async function perform({ calls }: Watched, requests: readonly StoreRequest[]): Promise<readonly unknown[]> {
  return new Promise((resolve, reject) => {
    calls.perform(requests, inFuture(), (answer) => {
      if (answer instanceof Error) reject(answer);
      else resolve(answer);
    });
  });
}

describe('frames of one turn', () => {
  it('go out in one call of the store, and each gets its own answers', async () => {
    const service = watched();

    const answers = await Promise.all([
      batch(service, keys('a', 'b')),
      batch(service, keys('c')),
      batch(service, keys('d')),
    ]);

    expect(service.sent).toEqual([['a', 'b', 'c', 'd']]);
    expect(
      answers.map((answer) => answer.keys.map((key) => (key as { blockedUntilMs: number }).blockedUntilMs)),
    ).toEqual([[0, 1], [2], [3]]);
  });

  it('with the same key go out one after the other, also where its limit has other numbers', async () => {
    const service = watched();
    const other = limitOf('one', 9);

    await Promise.all([
      batch(service, keys('a', 'b')),
      batch(service, [{ limit: other, subject: 'b', runs: undefined }]),
      batch(service, keys('b', 'c')),
      batch(service, [{ limit: limitOf('two'), subject: 'b', runs: undefined }]),
    ]);

    expect(service.sent).toEqual([['a', 'b'], ['b'], ['b', 'c', 'b']]);
  });

  it('keep their order among operations of another kind', async () => {
    const service = watched();

    await Promise.all([
      batch(service, keys('a')),
      perform(service, [reset('a')]),
      perform(service, [reset('b'), reset('c')]),
      batch(service, keys('d')),
    ]);

    expect(service.sent).toEqual([['a'], ['reset a', 'reset b', 'reset c'], ['d']]);
  });

  it('are several calls where one would block the store for long', async () => {
    const service = watched();
    const many = (from: number): CoalescedRequests[] =>
      keys(...Array.from({ length: 100 }, (_, i) => String(from + i)));

    await Promise.all([batch(service, many(0)), batch(service, many(100)), batch(service, many(200))]);

    expect(service.sent.map(({ length }) => length)).toEqual([200, 100]);
  });

  it('of a memory store are answered in the same turn', async () => {
    const calls = StoreCalls.of(memoryStore());
    const order: string[] = [];
    const answered = new Promise((resolve) => {
      calls.performBatch(keys('a'), inFuture(), resolve);
    }).then(() => order.push('answer'));

    await new Promise((resolve) => setImmediate(resolve)).then(() => order.push('next turn'));
    await answered;

    expect(order).toEqual(['answer', 'next turn']);
  });
});

describe('a call of the store', () => {
  it('that fails fails all of its frames, and no others', async () => {
    let calls = 0;
    const service = watched(() => (calls++ === 0 ? Promise.reject(new Error('lost')) : Promise.resolve()));

    const outcomes = await Promise.allSettled([
      batch(service, keys('a')),
      batch(service, keys('b')),
      perform(service, [reset('a')]),
    ]);

    expect(outcomes.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'fulfilled']);
  });

  it('is abandoned when the last of its clients has given up, and answers all the same', async () => {
    let finish = (): void => undefined;
    let abandonedAtMs = 0;
    const service = watched(async () => {
      const call = service.made[0] as StoreCall;
      call.onAbandoned = () => (abandonedAtMs = performance.now());
      return new Promise((resolve) => (finish = resolve));
    });
    const givesUpAtMs = performance.now() + 60;
    const hasty = batch(service, keys('a'), givesUpAtMs - 40);
    const patient = batch(service, keys('b'), givesUpAtMs);

    await until('it is abandoned', () => service.made[0]?.abandoned);

    expect(service.made).toHaveLength(1);
    expect(abandonedAtMs).toBeGreaterThanOrEqual(givesUpAtMs - 1);
    finish();
    expect(await Promise.all([hasty, patient])).toHaveLength(2);
  });
});
