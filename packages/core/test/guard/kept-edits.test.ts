import { describe, expect, it, jest } from '@jest/globals';
import { expectWarnings } from '@sluice/testkit';
import { StoreError } from '../../src/errors.ts';
import { concurrency } from '../../src/policies/concurrency.ts';
import type { Ask } from '../../src/stores/store.ts';
import { ASKS, guarded, openBreaker, useFakeTime, type FakeStore } from './fake-store.ts';

expectWarnings('SLUICE_STORE_AWAY');

const { pass } = useFakeTime();
const RELEASE: readonly Ask[] = [{ ...(ASKS[0] as Ask), policy: concurrency({ limit: 1, ttl: '1m' }), holder: 7 }];
const failsWith = (message: string, sent: boolean) => ({
  failsWith: new StoreError('SLUICE_STORE_FAILED', message, { sent }),
});
const unsent = failsWith('no connection', false);
const perhapsSent = failsWith('connection lost', true);

const gives = (store: FakeStore): number => store.asked.filter(({ op }) => op === 'give').length;

describe('an edit that is kept', () => {
  it('is sent once, as soon as the breaker closes', async () => {
    const { store, guard } = await openBreaker();
    guard.keep('give', ASKS);
    store.behaviour = 'answers';

    await pass(100);
    expect(gives(store)).toBe(1);
    await pass(20_000);

    expect(gives(store)).toBe(1);
  });

  it('is sent in half a second if the breaker never opened, and again while it surely was not sent', async () => {
    const { store, guard } = guarded(unsent);
    guard.keep('give', ASKS);

    await pass(500);
    expect(gives(store)).toBe(1);
    store.behaviour = 'answers';
    await pass(2_000);

    expect(gives(store)).toBe(2);
  });

  it('is dropped when the last limiter of the store has left, because it would open the store again', async () => {
    const { store, guard } = await openBreaker();
    const leave = guard.join('one');
    guard.keep('give', ASKS);
    store.behaviour = 'answers';

    leave();
    await pass(10_000);

    expect([gives(store), store.probes]).toEqual([0, 0]);
  });

  it.each([
    ['never sent again if it may have been executed', ASKS, 1],
    ['sent again even then if it is a release, which names its holder', RELEASE, 3],
  ])('is %s', async (_what, asks, times) => {
    const { store, guard } = guarded(perhapsSent);
    guard.keep('give', asks);

    await pass(1_000);
    store.behaviour = 'answers';
    await pass(5_000);

    expect(gives(store)).toBe(times);
  });

  it('is dropped after 10 s, and no timer is left', async () => {
    const { store, guard } = await openBreaker();
    const leave = guard.join('api');
    guard.keep('give', RELEASE);

    await pass(11_000);
    store.behaviour = 'answers';
    await pass(1_000);
    leave();

    expect(gives(store)).toBe(0);
    expect(jest.getTimerCount()).toBe(0);
  });

  it('is one of at most a thousand', async () => {
    const { store, guard } = await openBreaker();
    for (let i = 0; i < 1_500; i++) guard.keep('give', ASKS);
    store.behaviour = 'answers';

    await pass(100);

    expect(gives(store)).toBe(1_000);
  });
});
