import { describe, expect, it, jest } from '@jest/globals';
import { expectWarnings } from '@sluice/testkit';
import { breakers, subscribe, type BreakerMessage } from '../../src/channels.ts';
import { PolicyError, StoreError } from '../../src/errors.ts';
import type { Guard } from '../../src/guard/guard.ts';
import { ASKS, guarded, openBreaker, useFakeTime, type FakeStore } from './fake-store.ts';

expectWarnings('SLUICE_STORE_AWAY');

const { pass } = useFakeTime();

/** Asks until the store has answered, and then the next time. Returns what came of it each time. */
const ask = async (guard: Guard, times: number, timeoutMs = 100): Promise<unknown[]> => {
  const outcomes: unknown[] = [];
  for (let i = 0; i < times; i++) {
    const answer = (async () => guard.perform('take', ASKS, performance.now() + timeoutMs))();
    const outcome = answer.then(
      () => 'answered',
      (error: unknown) => (error as StoreError).code,
    );
    let isSettled = false;
    void outcome.then(() => (isSettled = true));
    await pass(0);
    while (!isSettled) await pass(1);
    outcomes.push(await outcome);
  }
  return outcomes;
};

describe('a store that keeps failing', () => {
  it('is called five times, and then rejected at once, by an error of its own each time with the last failure', async () => {
    const { store, guard } = guarded('fails');

    await ask(guard, 4);
    expect(guard.state).toBe('closed');
    expect(await ask(guard, 1)).toEqual(['SLUICE_STORE_FAILED']);
    const rejections = [1, 2].map(() => {
      try {
        return guard.perform('take', ASKS, performance.now() + 100);
      } catch (error) {
        return error;
      }
    });

    expect([guard.state, store.asked.length]).toEqual(['open', 5]);
    expect(rejections[0]).toMatchObject({
      ...{ code: 'SLUICE_BREAKER_OPEN', kind: 'open', sent: false },
      cause: expect.objectContaining({ message: 'away' }) as unknown,
    });
    expect(rejections[0]).not.toBe(rejections[1]);
  });

  it('is called again after a success among the failures', async () => {
    const { store, guard } = guarded('fails');

    await ask(guard, 4);
    store.behaviour = 'answers';
    await ask(guard, 1);
    store.behaviour = 'fails';
    await ask(guard, 4);

    expect(guard.state).toBe('closed');
  });

  it.each([
    ['the value of a key', new StoreError('SLUICE_STORE_KEY_FOREIGN', 'not ours')],
    ['a package that is missing', new StoreError('SLUICE_REDIS_CLIENT_MISSING', 'install it')],
    ['a policy', new PolicyError('policy', 'no such')],
    ['a membership that is not confirmed', new StoreError('SLUICE_SPLIT_UNCONFIRMED', 'wait')],
  ])('does not fail because of %s', async (_what, error) => {
    const { guard } = guarded({ failsWith: error });

    expect(await ask(guard, 10)).toEqual(Array(10).fill(error.code));
    expect(guard.state).toBe('closed');
  });
});

describe('a store that is late', () => {
  it.each<[string, FakeStore['behaviour']]>([
    ['fails if five calls in a row waited for 100 ms', 'hangs'],
    ['fails although its answers come after the calls were given up', { afterMs: 150 }],
  ])('%s', async (_title, behaviour) => {
    const outcomes = await ask(guarded(behaviour).guard, 6);

    expect(outcomes).toEqual([...Array<string>(5).fill('SLUICE_STORE_TIMEOUT'), 'SLUICE_BREAKER_OPEN']);
  });

  it('fails once by a call that is late and rejects afterwards', async () => {
    const { guard } = guarded({ failsWith: new Error('away'), afterMs: 150 });

    await ask(guard, 4);
    await pass(100);

    expect(guard.state).toBe('closed');
  });

  it('does not fail by shorter waits while it answers within 100 ms', async () => {
    const { guard } = guarded({ afterMs: 30 });

    expect(await ask(guard, 50, 5)).toEqual(Array(50).fill('SLUICE_STORE_TIMEOUT'));
    expect(guard.state).toBe('closed');
  });

  it('fails by shorter waits if nothing was answered for 100 ms', async () => {
    const { guard } = guarded('hangs');

    await ask(guard, 14, 5);
    expect(guard.state).toBe('closed');
    await ask(guard, 10, 5);

    expect(guard.state).not.toBe('closed');
  });
});

describe('a probe', () => {
  it('is sent 100 ms after the breaker opened, as a write that waits as long, and closes it', async () => {
    const { store, guard } = await openBreaker();
    store.behaviour = 'answers';

    await pass(99);
    expect(store.probes).toBe(0);
    await pass(1);

    expect(store.asked.at(-1)).toEqual({ op: 'take', keys: ['{probe}:-probe'], endMs: performance.now() + 100 });
    expect(await ask(guard, 1)).toEqual(['answered']);
  });

  it('leaves the breaker open if it fails, and comes again each 500 ms', async () => {
    const { store, guard } = await openBreaker();

    await pass(100 + 4 * 500);

    expect([guard.state, store.probes]).toEqual(['open', 5]);
  });

  it('is one at a time, and has the time of the most patient request, up to a second', async () => {
    const { store, guard } = guarded('fails');
    await ask(guard, 5, 60_000);
    store.behaviour = 'hangs';

    await pass(100 + 999);
    expect([guard.state, store.probes]).toEqual(['half-open', 1]);
    await pass(1 + 500);

    expect(store.probes).toBe(2);
  });

  it('closes the breaker if it meets what is to be mended, so that callers are told', async () => {
    const { store, guard } = await openBreaker();
    store.behaviour = { failsWith: new StoreError('SLUICE_REDIS_CLIENT_MISSING', 'install it') };

    await pass(100);

    expect(await ask(guard, 1)).toEqual(['SLUICE_REDIS_CLIENT_MISSING']);
  });

  it('is not sent any more once the last limiter of the store has left, nor for calls that fail afterwards', async () => {
    const { store, guard } = guarded('fails');
    const leave = [guard.join('one'), guard.join('two')];
    await ask(guard, 5);

    leave[0]?.();
    await pass(100);
    expect(store.probes).toBe(1);
    leave[1]?.();
    await pass(10_000);
    expect(jest.getTimerCount()).toBe(0);
    await ask(guard, 10);
    await pass(10_000);

    expect([guard.state, store.probes]).toEqual(['closed', 1]);
  });

  it('does not hear of calls from before it closed the breaker', async () => {
    const { store, guard } = guarded('hangs');
    const slow = Array.from({ length: 5 }, async () => guard.perform('take', ASKS, performance.now() + 300));
    const settled = Promise.allSettled(slow);
    await pass(1);
    store.behaviour = 'fails';
    await ask(guard, 5);
    store.behaviour = 'answers';

    await pass(310);
    await settled;

    expect([guard.state, store.probes]).toEqual(['closed', 1]);
  });
});

describe('the channel sluice:breaker', () => {
  it('has every change of state, with the limiters of the store, and why', async () => {
    const messages: BreakerMessage[] = [];
    const stop = subscribe(breakers, (message) => messages.push(message));
    const { store, guard } = guarded('fails');
    guard.join('api');
    guard.join('login');

    await ask(guard, 5);
    await pass(100);
    store.behaviour = 'answers';
    await pass(500);
    stop();

    const common = { limiters: ['api', 'login'], store: 'redis', kind: 'other' };
    expect(messages).toEqual([
      { ...common, state: 'open', previous: 'closed' },
      { ...common, state: 'half-open', previous: 'open' },
      { ...common, state: 'open', previous: 'half-open' },
      { ...common, state: 'half-open', previous: 'open' },
      { ...common, state: 'closed', previous: 'half-open' },
    ]);
  });

  it.each(['open', 'half-open'])(
    'may be where the last limiter is closed: %s, and nothing is probed then',
    async (at) => {
      const { store, guard } = guarded('fails');
      const leave = guard.join('closed-by-listener');
      const stop = subscribe(breakers, ({ state }) => {
        if (state === at) leave();
      });

      await ask(guard, 5);
      await pass(10_000);
      stop();

      expect([store.probes, jest.getTimerCount()]).toEqual([0, 0]);
    },
  );
});

describe('an outage', () => {
  it('is warned of once for each kind of failure, and its end each time, with the times of both', async () => {
    const warned = jest.spyOn(process, 'emitWarning').mockImplementation(() => undefined);
    const { store, guard } = guarded('answers');
    guard.join('warned');
    for (const [message, kind] of [
      ['no connection', 'connection'],
      ['no such right', 'denied'],
      ['no such right', 'denied'],
    ] as const) {
      store.behaviour = { failsWith: new StoreError('SLUICE_STORE_FAILED', message, { kind }) };
      await ask(guard, 5);
      store.behaviour = 'answers';
      await pass(100);
    }

    expect(warned.mock.calls.map(([text]) => String(text))).toEqual([
      expect.stringMatching(/^The redis store of "warned" keeps failing \(connection\): no connection\. Since \d{4}-/),
      expect.stringMatching(/^The redis store of "warned" is back: it was down from \d{4}-.*Z to \d{4}-.*Z\.$/),
      expect.stringMatching(/^The redis store of "warned" keeps failing \(denied\): no such right/),
      expect.stringMatching(/^The redis store of "warned" is back/),
      expect.stringMatching(/^The redis store of "warned" is back/),
    ]);
  });
});
