import { describe, expect, it } from '@jest/globals';
import { createLimiter, fixedWindow, type Limiter } from '@sluice/core';
import { limitTokens } from '@sluice/web/ai';
import { generateText, simulateReadableStream, streamText, wrapLanguageModel } from 'ai';
import { MockLanguageModelV3 } from 'ai/test';

type Model = ConstructorParameters<typeof MockLanguageModelV3>[0];

const tokens = (limit: number): Limiter => createLimiter({ policy: fixedWindow({ limit, window: '1h' }) });
const usedBy = async (limiter: Limiter, key = 'ann'): Promise<number> => (await limiter.peek(key, 0)).used;
const usage = (input: unknown, output: unknown) => ({ inputTokens: { total: input }, outputTokens: { total: output } });
const finishReason = { unified: 'stop' as const, raw: undefined };

/** A model that answers with a text of 400 characters, and reports this usage. */
function answering(reported: object) {
  const content = [{ type: 'text' as const, text: 'x'.repeat(400) }];
  const answer = { content, finishReason, usage: reported as never, warnings: [] };
  return new MockLanguageModelV3({ doGenerate: async () => Promise.resolve(answer) });
}

/** A model that sends 400 characters of thoughts and 6 of its answer, and reports this usage, if any. */
function streaming(reported?: object) {
  const chunks = [
    { type: 'stream-start' as const, warnings: [] },
    { type: 'reasoning-start' as const, id: '2' },
    { type: 'reasoning-delta' as const, id: '2', delta: 'x'.repeat(400) },
    { type: 'reasoning-end' as const, id: '2' },
    { type: 'text-start' as const, id: '1' },
    { type: 'text-delta' as const, id: '1', delta: 'otters' },
    { type: 'text-end' as const, id: '1' },
    ...(reported === undefined ? [] : [{ type: 'finish' as const, finishReason, usage: reported as never }]),
  ];
  const stream = simulateReadableStream({ chunks, chunkDelayInMs: null });
  return new MockLanguageModelV3({ doStream: async () => Promise.resolve({ stream }) });
}
const SENT = Math.ceil(406 / 4);

/** A model, limited for ann. */
const limit = (model: MockLanguageModelV3, limiter: Limiter, more: object = {}) =>
  wrapLanguageModel({ model, middleware: limitTokens({ limiter, key: 'ann', ...more }) });
/** 100 tokens, with the names of its role and type. */
const prompt = [{ role: 'user' as const, content: [{ type: 'text' as const, text: 'x'.repeat(392) }] }];

describe('a model with a limit of tokens', () => {
  it('takes an estimate before the call, and costs what the model reports after it', async () => {
    const limiter = tokens(5000);
    const during: number[] = [];
    const model = answering(usage(10, 20));
    const { doGenerate } = model;
    model.doGenerate = async (options) => {
      during.push(await usedBy(limiter));
      return doGenerate(options);
    };

    await limit(model, limiter).doGenerate({ prompt, maxOutputTokens: 50 });

    expect([...during, await usedBy(limiter)]).toEqual([100 + 50, 30]);
  });

  it.each([
    ['its answer', usage(10, undefined), 10 + 101],
    ['its answer, which is negative', { inputTokens: 10, outputTokens: -1000 }, 10 + 101],
    ['its prompt', usage(undefined, 7), 100 + 7],
    ['0 of both', usage(0, 0), 100 + 1000],
    ['nothing', {}, 100 + 1000],
  ])('costs what its texts have if it does not report %s', async (_what, reported, expected) => {
    const limiter = tokens(5000);

    await limit(answering(reported), limiter).doGenerate({ prompt });

    expect(await usedBy(limiter)).toBe(expected);
  });

  it('is not asked beyond the limit: the error states for how long, and the SDK does not try again', async () => {
    const limiter = tokens(100);
    const model = answering(usage(1, 1));
    await limiter.consume('ann', 50);

    await expect(
      generateText({ model: limit(model, limiter, { estimate: () => 60 }), prompt: 'hello' }),
    ).rejects.toMatchObject({
      ...{ name: 'TokenLimitError', code: 'SLUICE_DENIED', decision: { allowed: false } },
      message: expect.stringMatching(
        /^The limit default is used up. Try again in 3600 seconds. The model was not asked./,
      ) as unknown,
    });
    expect([model.doGenerateCalls.length, await usedBy(limiter)]).toEqual([0, 50]);
  });

  it('has several budgets as one decision, by a key that is found in the call', async () => {
    const limiter = createLimiter({
      limits: [
        { name: 'per-user', policy: fixedWindow({ limit: 100, window: '1h' }) },
        { name: 'per-team', policy: fixedWindow({ limit: 150, window: '1h' }) },
      ],
    });
    const key = (call: { providerOptions?: { app?: { user: string } } }) => {
      return { 'per-user': call.providerOptions?.app?.user ?? 'guest', 'per-team': 'otters' };
    };
    const middleware = limitTokens({ limiter, key: key as never, estimate: () => 100 });
    const model = wrapLanguageModel({ model: answering(usage(40, 40)), middleware });
    const ask = async (user: string) => model.doGenerate({ prompt, providerOptions: { app: { user } } });

    await ask('ann');
    await expect(ask('bob')).rejects.toMatchObject({ code: 'SLUICE_DENIED', decision: { policy: 'per-team' } });
    expect((await limiter.peek({ 'per-user': 'bob' }, 0)).used).toBe(0);
  });
});

describe('a model that fails', () => {
  const overloaded: Model = {
    doGenerate: () => Promise.reject(new Error('overloaded')),
    doStream: () => Promise.reject(new Error('overloaded')),
  };

  it.each(['doGenerate', 'doStream'] as const)('costs nothing: %s', async (call) => {
    const limiter = tokens(5000);

    await expect(limit(new MockLanguageModelV3(overloaded), limiter)[call]({ prompt })).rejects.toThrow('overloaded');

    expect(await usedBy(limiter)).toBe(0);
  });

  it('costs its prompt if the call was aborted: the model may have read it', async () => {
    const limiter = tokens(5000);
    const model = limit(new MockLanguageModelV3(overloaded), limiter);

    await expect(model.doGenerate({ prompt, abortSignal: AbortSignal.abort() })).rejects.toThrow();

    expect(await usedBy(limiter)).toBe(100);
  });
});

describe('a stream of a model', () => {
  it('arrives whole, and costs what it reports at its end', async () => {
    const limiter = tokens(5000);

    const { text } = streamText({ model: limit(streaming(usage(5, 7)), limiter), prompt: 'hi' });

    expect(await text).toBe('otters');
    expect(await usedBy(limiter)).toBe(12);
  });

  it.each([
    ['that its reader leaves', undefined, 'text-delta', 100 + SENT],
    ['without a usage', undefined, 'the end', 100 + SENT],
    ['that reports its prompt alone', usage(5, undefined), 'the end', 5 + SENT],
  ])('%s costs its prompt and what it has sent, thoughts included', async (_what, reported, lastRead, expected) => {
    const limiter = tokens(5000);
    const { stream } = await limit(streaming(reported), limiter).doStream({ prompt });
    const reader = stream.getReader();

    for (let read = await reader.read(); !read.done && read.value.type !== lastRead;) read = await reader.read();
    await reader.cancel();

    expect(await usedBy(limiter)).toBe(expected);
  });
});
