import { describe, expect, it } from '@jest/globals';
import {
  createLimiter,
  fixedWindow,
  slidingLog,
  type Clock,
  type Limiter,
  type Store,
  type StoreRequest,
} from '@sluice/old-core';
import { keysOf, performRequest } from '@sluice/old-core/spi';
import { describeStore, fakeClock } from '@sluice/testkit';

/** The smallest store of texts. */
function mapStore(texts: Map<string, string>, clock: Clock, seen: StoreRequest[] = []): Store {
  return {
    source: 'remote',
    perform: (requests) =>
      requests.map((request) => {
        seen.push(request);
        const performed = performRequest(
          request,
          keysOf(request).map((key) => texts.get(key)),
          Math.floor(clock.now()),
        );
        if (performed instanceof Error) return performed;
        for (const { key, text } of performed.changes) {
          if (text === undefined) texts.delete(key);
          else texts.set(key, text);
        }
        return performed.answer;
      }),
  };
}

describeStore('that keeps texts', { source: 'remote', create: (clock) => mapStore(new Map(), clock) });

describe('performRequest', () => {
  const policy = fixedWindow({ limit: 2, window: '1m' });

  async function requestsOf(act: (limiter: Limiter) => Promise<unknown>) {
    const seen: StoreRequest[] = [];
    const texts = new Map<string, string>();
    const clock = fakeClock();
    await act(createLimiter({ name: 'shop', policy, store: mapStore(texts, clock, seen) }));
    return { seen, texts, clock };
  }

  it('changes nothing for a denial and for a peek, and removes a key that is reset', async () => {
    const { seen, texts, clock } = await requestsOf(async (limiter) => {
      await limiter.consume('key', 2);
    });
    const [consume] = seen as [StoreRequest & { op: 'consume' }];
    const before = [...texts.values()];
    const [part] = consume.parts;

    expect(performRequest(consume, before, clock.atMs)).toMatchObject({ changes: [] });
    expect(performRequest({ ...consume, op: 'peek' }, [undefined], clock.atMs)).toMatchObject({ changes: [] });
    expect(performRequest({ op: 'reset', part: part as never }, before, clock.atMs)).toMatchObject({
      changes: [{ key: 'key:shop:2f', text: undefined }],
    });
    expect(performRequest(consume, [undefined], clock.atMs)).toMatchObject({
      changes: [{ key: 'key:shop:2f', endsAtMs: clock.atMs + 60_000 }],
    });
  });

  it('returns an error for a text that it has not written, which does not show the key', async () => {
    const { seen, clock } = await requestsOf(async (limiter) => {
      await limiter.consume('ann@example.org');
    });

    const failure = performRequest(seen[0] as StoreRequest, ['not ours'], clock.atMs) as Error;

    expect(failure).toMatchObject({ code: 'SLUICE_STORE_KEY_FOREIGN' });
    expect(failure.message).not.toContain('example.org');
  });

  it('keeps the whole of a long state in its text', async () => {
    const clock = fakeClock();
    const texts = new Map<string, string>();
    const log = slidingLog({ limit: 1_000, window: '1h' });
    for (let i = 0; i < 500; i++) {
      await createLimiter({ name: 'log', shared: true, policy: log, store: mapStore(texts, clock) }).consume('key');
      clock.advance(1_000);
    }
    const { used } = await createLimiter({ name: 'log', policy: log, store: mapStore(texts, clock) }).peek('key', 0);
    clock.advance(3_600_000 - 250_000);
    const later = await createLimiter({ name: 'log', policy: log, store: mapStore(texts, clock) }).peek('key', 0);

    expect([used, later.used]).toEqual([500, 249]);
  });

  it.each(['\0', 'a\0b', '\ud800', '\udfff', '#a', 'x'.repeat(300)])(
    'has keys without NUL and lone surrogates: %j',
    async (key) => {
      const { texts } = await requestsOf(async (limiter) => {
        await limiter.consume(key);
      });

      const [stored = ''] = texts.keys();
      expect(stored).toMatch(/^#.{22}:shop:2f$/);
    },
  );
});
