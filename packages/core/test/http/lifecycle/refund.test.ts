import { describe, expect, it } from '@jest/globals';
import { fixedWindow } from '@sluice/core';
import { byAll, RequestLimiter } from '@sluice/core/http';
import { expectWarnings } from '@sluice/testkit';
import { place, plainFramework, PlainResponse, remembering, turns } from '../plain-framework.ts';

expectWarnings('SLUICE_REFUND_FAILED');

/** Places with these refunds, and what is left of five units in each. */
function scene(...refunds: readonly unknown[]) {
  const store = remembering();
  const policy = fixedWindow({ limit: 5, window: '1h' });
  const places = refunds.map((refund, i) => place({ name: `place-${String(i)}`, policy, key: byAll(), store, refund }));
  return {
    store,
    limiter: new RequestLimiter(places, plainFramework),
    places,
    async left() {
      await turns();
      return Promise.all(places.map(async ({ limiter }) => (await limiter.peek('*' as never)).remaining));
    },
  };
}

describe('a refund', () => {
  it('is not that of a response of HTTP/2 that was cut off, and finished all the same', async () => {
    const { limiter, left } = scene('on-success');
    const response = new PlainResponse();
    await limiter.plan({}, response);

    Object.assign(response, { stream: { rstCode: 8 } });
    response.finish();

    expect(await left()).toEqual([4]);
  });

  it.each<[string, unknown, number]>([
    ['on-success', 'on-success', 4],
    ['on-failure', 'on-failure', 5],
    ['a function', () => true, 5],
  ])('judges a client that left before the decision with onAbort, by %s', async (_what, when, expected) => {
    const { limiter, left } = scene({ when, onAbort: true });
    const response = Object.assign(new PlainResponse(), { destroyed: true });

    await limiter.plan({ socket: { destroyed: true } }, response);

    expect(await left()).toEqual([expected]);
  });

  it('is that of each place by its own rule, and one that throws leaves the others alone', async () => {
    const broken = (): never => {
      throw new Error('no such column');
    };
    const { limiter, left, store } = scene('on-success', undefined, broken, async () =>
      Promise.reject(new Error('late')),
    );
    const response = new PlainResponse();
    await limiter.plan({}, response);

    response.finish();

    expect(await left()).toEqual([5, 4, 4, 4]);
    expect(store.ops.filter((op) => op === 'give')).toHaveLength(1);
  });

  it('never happens without a response', async () => {
    const { places, store } = scene({ when: 'on-failure', onAbort: true });
    const framework = { ...plainFramework, rawResponse: () => undefined };
    await new RequestLimiter(places, framework).plan({}, new PlainResponse());
    await turns();

    expect(store.ops).toEqual(['take']);
  });
});
