import { afterEach, describe, expect, it, jest } from '@jest/globals';
import { fixedWindow, leakyBucket, type Decision } from '@sluice/core';
import { byAll, RequestLimiter } from '@sluice/core/http';
import { useFakeTime } from '../../guard/fake-store.ts';
import { place, plainFramework, PlainResponse, remembering, type PlainRequest } from '../plain-framework.ts';

const pace = leakyBucket({ name: 'pace', limit: 10, window: '1s', maxDelay: '5s' });
const window = fixedWindow({ name: 'window', limit: 100, window: '1d' });
afterEach(() => {
  expect(jest.getTimerCount()).toBe(0);
});
const { pass } = useFakeTime();

interface Visit {
  readonly response: PlainResponse;
  /** `waits`, `runs`, `left`, `failed`, or the status of the denial. */
  fate: string;
}

function scene(options: object = {}) {
  const own = place({ policy: pace, key: byAll(), ...options });
  const limiter = new RequestLimiter([own], plainFramework);
  const visit = (request: PlainRequest = {}): Visit => {
    const made: Visit = { response: new PlainResponse(), fate: 'waits' };
    Promise.resolve(limiter.plan({ ...request }, made.response)).then(
      ({ denial, isGone }) => (made.fate = isGone ? 'left' : String(denial?.status ?? 'runs')),
      () => (made.fate = 'failed'),
    );
    return made;
  };
  return {
    visit,
    visits: (count: number, request?: PlainRequest) => Array.from({ length: count }, () => visit(request)),
    left: async () => (await own.limiter.peek('*' as never)).policies.map(({ remaining }) => remaining),
  };
}

const fates = (visits: readonly Visit[]): string[] => visits.map(({ fate }) => fate);

describe('a request that is allowed with a delay', () => {
  it('waits for it from its decision on, and not a millisecond less, however long onDecision takes', async () => {
    const onDecision = async (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 60));
    const all = scene({ onDecision }).visits(3);

    await pass(99);
    expect(fates(all)).toEqual(['runs', 'waits', 'waits']);
    await pass(1);
    expect(fates(all)).toEqual(['runs', 'runs', 'waits']);
    await pass(100);
  });

  it('fails with onDecision, and its place is free', async () => {
    const onDecision = ({ delayMs }: Decision): void => {
      if (delayMs > 0) throw new Error('broken');
    };
    const { visits, left } = scene({ onDecision });

    const all = visits(2);
    await pass(0);

    expect([fates(all), await left()]).toEqual([['runs', 'failed'], [50]]);
  });
});

describe('maxPaced', () => {
  it('denies one more at once, which takes nothing, with the wait and the policy', async () => {
    const [store, told] = [remembering(), [] as Decision[]];
    const onDecision = (decision: Decision): unknown => told.push(decision);
    const { visits, left } = scene({ maxPaced: 1, policy: [pace, window], store, onDecision });

    const all = visits(3);
    await pass(0);

    expect([fates(all), store.ops]).toEqual([
      ['runs', 'waits', '429'],
      ['take', 'take', 'peek'],
    ]);
    expect(told[2]).toMatchObject({ outcome: 'denied', policy: 'pace', retryAfterMs: 200, delayMs: 0 });
    expect((await left())[1]).toBe(98);
    await pass(100);
  });

  it('is free again when one starts or leaves', async () => {
    const { visits, visit } = scene({ maxPaced: 2 });
    const all = visits(4);
    await pass(0);
    expect(fates(all)).toEqual(['runs', 'waits', 'waits', '429']);

    all[2]?.response.leave();
    await pass(100);
    const later = [visit(), visit(), visit(), visit()];
    await pass(0);

    expect(fates(later).filter((fate) => fate === '429')).toHaveLength(2);
    await pass(1_000);
  });
});
