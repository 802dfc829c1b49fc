import { spawnSync } from 'node:child_process';
import { describe, expect, it, jest } from '@jest/globals';
import { buildSync } from 'esbuild';
import { Guard } from '../../src/guard/guard.ts';
import { ASKS, FakeStore, guarded, useFakeTime } from './fake-store.ts';

const ANSWER = { figures: [expect.anything()] };
const TIMEOUT = { code: 'SLUICE_STORE_TIMEOUT', kind: 'timeout', sent: true };

describe('the deadline of a call', () => {
  const { pass, stall } = useFakeTime();

  /** Asks a store, within this time. Returns what has become of the call. */
  const call = (store: FakeStore, timeoutMs: number, guard = new Guard(store)): { outcome?: unknown } => {
    const seen: { outcome?: unknown } = {};
    Promise.resolve(guard.perform('take', ASKS, performance.now() + timeoutMs)).then(
      () => (seen.outcome = 'answered'),
      (error: unknown) => (seen.outcome = error),
    );
    return seen;
  };

  it('ends the wait for a store that does not answer, and not earlier, of each of several calls', async () => {
    const store = new FakeStore('hangs');
    const [slow, quick] = [call(store, 100), call(store, 20)];

    await pass(22);
    expect([slow.outcome, quick.outcome]).toEqual([undefined, expect.objectContaining(TIMEOUT)]);
    await pass(77);
    expect(slow.outcome).toBeUndefined();
    await pass(2);

    expect(slow.outcome).toMatchObject(TIMEOUT);
  });

  it('ends at once if the request has no time left: the store is not asked', () => {
    const { store, guard } = guarded('answers');

    expect(() => guard.perform('take', ASKS, performance.now())).toThrow(
      expect.objectContaining({ code: 'SLUICE_STORE_TIMEOUT', sent: false }),
    );
    expect(store.asked).toEqual([]);
  });

  it('gives the store 40 ms more after a stall of this process, once', async () => {
    const answering = call(new FakeStore({ afterMs: 130 }), 100);
    const hanging = call(new FakeStore('hangs'), 100);

    stall(300);
    await pass(120);
    expect(hanging.outcome).toBeUndefined();
    stall(300);
    await pass(30);

    expect([answering.outcome, hanging.outcome]).toEqual(['answered', expect.objectContaining(TIMEOUT)]);
  });

  it('comes also if the process stalls again before it has read the answers that are there', async () => {
    const seen = call(new FakeStore('hangs'), 100);

    stall(300);
    setTimeout(stall, 100, 50); // after the timer of the deadline, and before what comes in is read
    await pass(200);

    expect(seen.outcome).toMatchObject(TIMEOUT);
  });

  it('leaves those 40 ms to the other limiters of the request', async () => {
    const { store, guard } = guarded('hangs');
    const endMs = performance.now() + 100;
    const first = Promise.resolve(guard.perform('take', ASKS, endMs)).catch(() => undefined);
    stall(300);
    await pass(101);

    store.behaviour = 'answers';

    expect(await guard.perform('take', ASKS, endMs)).toHaveProperty('figures');
    await pass(50);
    await first;
  });
});

describe('a first connection', () => {
  const { pass } = useFakeTime();

  const connectingFor = (ms: number, behaviour: FakeStore['behaviour']): FakeStore => {
    let opening: Promise<void> | undefined = new Promise((resolve) => {
      setTimeout(() => {
        opening = undefined;
        resolve();
      }, ms);
    });
    return Object.assign(new FakeStore(behaviour), { opening: () => opening });
  };

  it.each<[string, ms: number, FakeStore['behaviour'], outcome: object]>([
    ['as long as it takes, and the call has its whole time from then on', 240, { afterMs: 90 }, ANSWER],
    ['no longer than that and the time of the call', 250, 'hangs', TIMEOUT],
  ])('is waited for %s', async (_what, ms, behaviour, outcome) => {
    const store = connectingFor(ms, behaviour);
    const answer = Promise.resolve(new Guard(store).perform('take', ASKS, performance.now() + 100));
    const ended = answer.catch((error: unknown) => error);
    await pass(ms - 1);
    const askedMeanwhile = store.calls;
    await pass(103);

    expect(askedMeanwhile).toEqual([]);
    expect(await ended).toMatchObject(outcome);
  });
});

describe('a process that nothing else keeps alive', () => {
  /** What a program prints of its calls, of which only the first ones are answered. */
  const printed = (answers: number, calls: number, timeoutMs: number): string => {
    const contents = `
      import { startWaiting, stopWaiting } from '../../src/guard/deadlines.ts';
      for (let i = 0; i < ${String(calls)}; i++) {
        console.log(await new Promise((resolve) => {
          const now = performance.now();
          const call = { endMs: now + ${String(timeoutMs)}, giveUp: () => resolve('late') };
          startWaiting(call, now);
          if (i < ${String(answers)}) queueMicrotask(() => resolve(stopWaiting(call) && 'answered'));
        }));
      }`;
    const stdin = { contents, resolveDir: import.meta.dirname };
    const { outputFiles } = buildSync({ stdin, bundle: true, write: false, format: 'esm', platform: 'node' });
    const input = outputFiles[0]?.text ?? '';
    const { stdout, stderr, status } = spawnSync(process.execPath, ['--input-type=module'], {
      input,
      encoding: 'utf8',
    });
    return `${stdout.trim().split('\n').join(' ')}${stderr}, ${String(status)}`;
  };

  it('waits for its last calls, and no longer than for their answers', () => {
    expect(printed(2, 4, 30)).toBe('answered answered late late, 0');
    expect(printed(3, 3, 2_000_000_000)).toBe('answered answered answered, 0');
  });
});

describe('fake timers of a test that has ended', () => {
  it('do not serve the calls after it', async () => {
    jest.useFakeTimers({ doNotFake: ['performance'] });
    const { guard } = guarded();
    await guard.perform('take', ASKS, performance.now() + 50);
    jest.useRealTimers();
    const hanging = guarded('hangs').guard;

    const failure = Promise.resolve(hanging.perform('take', ASKS, performance.now() + 60)).catch(
      (error: unknown) => error,
    );

    expect(await failure).toMatchObject(TIMEOUT);
  });
});
