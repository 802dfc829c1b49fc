import { describe, expect, it } from '@jest/globals';
import { createLimiter, redisStore, slidingWindow } from '@sluice/core';
import { postJson, until, useExample, useRedis, useServers } from '@sluice/testkit';
import { createApp } from '../src/app.ts';
import type { Model } from '../src/model.ts';

const redis = useRedis();
const LIMIT = 1000;
const policy = slidingWindow({ limit: LIMIT, window: '1m' });

/**
 * A model that produces tokens as fast as they are read, counts them itself, and fails when the prompt requests it.
 */
class CountingModel implements Model {
  used = 0;

  count(text: string): number {
    return text.split(' ').length;
  }

  async *answer(prompt: string, maxTokens: number, signal: AbortSignal): AsyncIterable<string> {
    const [, length = '0', failsAt = '-1'] = /^say (\d+) fail (-?\d+)/.exec(prompt) ?? [];
    for (let i = 0; i < Math.min(Number(length), maxTokens); i++) {
      await new Promise(setImmediate);
      signal.throwIfAborted();
      if (i === Number(failsAt)) throw new Error('the model is gone');
      this.used += i === 0 ? this.count(prompt) + 1 : 1;
      yield 'token ';
    }
  }
}

const serve = useServers();

async function start(model: Model = new CountingModel()): Promise<{ url: string; lines: string[] }> {
  const lines: string[] = [];
  const store = redisStore(redis.client, { prefix: 'sluice' });
  const { port } = await serve(createApp({ store, model, log: (line) => void lines.push(line) }));
  return { url: `http://127.0.0.1:${String(port)}`, lines };
}

const ask = (url: string, user: string, prompt: string, maxTokens: number, init?: RequestInit): Promise<Response> =>
  postJson(`${url}/answers`, { prompt, max_tokens: maxTokens }, { authorization: `Bearer ${user}` }, init);

const usedOf = async (user: string): Promise<number> => {
  const store = redisStore(redis.client, { prefix: 'sluice' });
  const limiter = createLimiter({ name: 'tokens', policy, store, onStoreError: 'throw', timeoutMs: 60_000 });
  return LIMIT - (await limiter.peek(user, 0)).remaining;
};

describe('an answer', () => {
  it('costs the tokens it used', async () => {
    const { url, lines } = await start();

    const response = await ask(url, 'whole', 'say 40 fail -1', 300);

    expect(response.headers.get('ratelimit')).toMatch(/^"tokens";r=696;t=\d+$/); // 1000 less 4 and 300
    expect(await response.text()).toBe('token '.repeat(40));
    await until('it is settled', () => lines.length === 1);
    expect(await usedOf('whole')).toBe(4 + 40);
  });

  it('that could cost more than the rest is denied, and costs nothing', async () => {
    const { url } = await start();
    const endless = ['say 500 fail -1', 'say 500 fail -1'].map((prompt) => ask(url, 'busy', prompt, 450));
    const [first, second] = await Promise.all(endless);

    const denied = await ask(url, 'busy', 'say 500 fail -1', 500);

    expect([first?.status, second?.status, denied.status]).toEqual([200, 200, 429]);
    expect(Number(denied.headers.get('retry-after'))).toBeGreaterThan(0);
    expect(await denied.json()).toMatchObject({ status: 429, 'violated-policies': ['tokens'] });
  });

  it.each([
    ['before its first token', 0, 0],
    ['in the middle', 5, 4 + 5],
  ])('of a model that fails %s costs the tokens until then', async (when, at, cost) => {
    const { url, lines } = await start();

    const response = await ask(url, when.replaceAll(' ', '_'), `say 40 fail ${String(at)}`, 300);
    const isWhole = await response.text().then(
      () => true,
      () => false,
    );

    expect([response.status, isWhole]).toEqual(at === 0 ? [502, true] : [200, false]);
    await until('it is settled', () => lines.length === 1);
    expect(await usedOf(when.replaceAll(' ', '_'))).toBe(cost);
  });

  it('of a client that leaves costs the tokens until then', async () => {
    const model = new CountingModel();
    const [{ url, lines }, leaving] = [await start(model), new AbortController()];

    await ask(url, 'gone', 'say 500 fail -1', 500, { signal: leaving.signal });
    leaving.abort();

    await until('it is settled', () => lines.length === 1);
    expect(await usedOf('gone')).toBe(model.used);
  });
});

it('the example answers as its output describes', async () => {
  await useExample(new URL('../dist/main.js', import.meta.url), async (url, example) => {
    const response = await ask(url, 'ann', 'A poem in 5 words', 400);

    expect((await response.text()).trim().split(' ')).toHaveLength(5);
    await example.prints('ann: reserved 405 tokens, used 10');
  });
});
