import { describe, expect, it, jest } from '@jest/globals';
import { createLimiter, fixedWindow, tokenBucket, type Limiter } from '@sluice/core';
import { limitTokens } from '@sluice/web/ai';
import { generateText, simulateReadableStream, streamText, wrapLanguageModel } from 'ai';
import { MockLanguageModelV3 } from 'ai/test';

const tokens = (limit: number): Limiter => createLimiter({ policy: fixedWindow({ limit, window: '1h' }) });
const usage = (input: number, output: number) => ({
  inputTokens: { total: input, noCache: input, cacheRead: undefined, cacheWrite: undefined },
  outputTokens: { total: output, text: output, reasoning: undefined },
});
const finishReason = { unified: 'stop' as const, raw: undefined };

/** A model that answers with `otter`, and reports this usage. */
function answering(reported: ReturnType<typeof usage>) {
  return new MockLanguageModelV3({
    doGenerate: async () =>
      Promise.resolve({ content: [{ type: 'text', text: 'otter' }], finishReason, usage: reported, warnings: [] }),
  });
}

type Part = { type: 'text-delta' | 'reasoning-delta'; id: string; delta: string };

function streaming(parts: readonly Part[], reported?: ReturnType<typeof usage>) {
  const chunks = [
    { type: 'stream-start' as const, warnings: [] },
    { type: 'text-start' as const, id: '1' },
    { type: 'reasoning-start' as const, id: '2' },
    ...parts,
    { type: 'text-end' as const, id: '1' },
    { type: 'reasoning-end' as const, id: '2' },
    ...(reported === undefined ? [] : [{ type: 'finish' as const, finishReason, usage: reported }]),
  ];
  return new MockLanguageModelV3({
    doStream: async () => Promise.resolve({ stream: simulateReadableStream({ chunks, chunkDelayInMs: null }) }),
  });
}

const usedBy = async (limiter: Limiter, key = 'ann'): Promise<number> => (await limiter.peek(key, 0)).used;

describe('a model with a limit of tokens', () => {
  it('takes an estimate before the call, and has cost what the model reports after it', async () => {
    const limiter = tokens(5000);
    const during: number[] = [];
    const model = new MockLanguageModelV3({
      doGenerate: async () => {
        during.push(await usedBy(limiter));
        return { content: [], finishReason, usage: usage(10, 20), warnings: [] };
      },
    });
    const limited = wrapLanguageModel({ model, middleware: limitTokens({ limiter, key: 'ann' }) });

    await generateText({ model: limited, prompt: 'x'.repeat(400), maxOutputTokens: 50 });

    expect(during[0]).toBeGreaterThanOrEqual(150);
    expect(during[0]).toBeLessThan(160);
    expect(await usedBy(limiter)).toBe(30);
  });

  it.each([
    ['its answer', { inputTokens: { total: 10 }, outputTokens: { total: undefined } }, 10 + 100],
    ['its answer, which is negative', { inputTokens: 10, outputTokens: -1000 }, 10 + 100],
    ['its prompt', { inputTokens: undefined, outputTokens: { total: 7 } }, 100 + 7],
    ['0 of both', { inputTokens: { total: 0 }, outputTokens: { total: 0 } }, 100 + 1000],
    ['nothing', {}, 100 + 1000],
  ])('costs what its texts are where it does not report %s', async (_what, reported, expected) => {
    const limiter = tokens(5000);
    const model = new MockLanguageModelV3({
      doGenerate: async () =>
        Promise.resolve({
          content: [{ type: 'text', text: 'x'.repeat(400) }],
          finishReason,
          usage: reported as never,
          warnings: [],
        }),
    });
    const limited = wrapLanguageModel({ model, middleware: limitTokens({ limiter, key: 'ann' }) });

    await limited.doGenerate({ prompt: [{ role: 'user', content: [{ type: 'text', text: 'x'.repeat(400) }] }] });

    expect(await usedBy(limiter)).toBeGreaterThanOrEqual(expected);
    expect(await usedBy(limiter)).toBeLessThan(expected + 10);
  });

  it('is not asked beyond the limit: the error says for how long, and the SDK does not try again', async () => {
    const limiter = tokens(100);
    const model = answering(usage(1, 1));
    const limited = wrapLanguageModel({ model, middleware: limitTokens({ limiter, key: 'ann', estimate: () => 60 }) });
    await limiter.consume('ann', 50);

    await expect(generateText({ model: limited, prompt: 'hello' })).rejects.toMatchObject({
      name: 'TokenLimitError',
      code: 'SLUICE_DENIED',
      message: expect.stringMatching(
        /^The limit default is used up. Try again in 60 minutes. The model was not asked./,
      ) as unknown,
      decision: { allowed: false },
    });
    expect(model.doGenerateCalls).toHaveLength(0);
    expect(await usedBy(limiter)).toBe(50);
  });

  it('counts beyond the estimate what was used beyond it', async () => {
    const limiter = createLimiter({ policy: tokenBucket({ capacity: 100, refill: 1, every: '1h' }) });
    const middleware = limitTokens({ limiter, key: 'ann', estimate: () => 10 });

    await generateText({ model: wrapLanguageModel({ model: answering(usage(100, 400)), middleware }), prompt: 'hi' });

    expect(await usedBy(limiter)).toBe(500);
    expect((await limiter.peek('ann')).allowed).toBe(false);
  });

  it('has several budgets as one decision', async () => {
    const limiter = createLimiter({
      limits: [
        { name: 'per-user', policy: fixedWindow({ limit: 100, window: '1h' }) },
        { name: 'per-team', policy: fixedWindow({ limit: 150, window: '1h' }) },
      ],
    });
    const ask = async (user: string): Promise<unknown> => {
      const key = { 'per-user': user, 'per-team': 'otters' };
      const middleware = limitTokens({ limiter, key, estimate: () => 100 });
      return generateText({ model: wrapLanguageModel({ model: answering(usage(40, 40)), middleware }), prompt: 'hi' });
    };

    await ask('ann');
    await expect(ask('bob')).rejects.toMatchObject({ code: 'SLUICE_DENIED', decision: { policy: 'per-team' } });
    expect((await limiter.peek({ 'per-user': 'bob' }, 0)).used).toBe(0);
  });

  it('finds its key in the call', async () => {
    const limiter = tokens(5000);
    const middleware = limitTokens({
      limiter,
      key: (call) => (call as { providerOptions?: { app?: { user?: string } } }).providerOptions?.app?.user ?? 'guest',
    });

    await generateText({
      model: wrapLanguageModel({ model: answering(usage(3, 4)), middleware }),
      prompt: 'hi',
      providerOptions: { app: { user: 'bob' } },
    });

    expect(await usedBy(limiter, 'bob')).toBe(7);
  });
});

describe('a model that fails', () => {
  it('has cost nothing', async () => {
    const limiter = tokens(5000);
    const model = new MockLanguageModelV3({ doGenerate: () => Promise.reject(new Error('overloaded')) });
    const limited = wrapLanguageModel({ model, middleware: limitTokens({ limiter, key: 'ann' }) });

    await expect(generateText({ model: limited, prompt: 'hi' })).rejects.toThrow('overloaded');

    expect(await usedBy(limiter)).toBe(0);
  });

  it('has cost its prompt where the call was aborted: the model may have read it', async () => {
    const limiter = tokens(5000);
    const aborted = new AbortController();
    const model = new MockLanguageModelV3({
      doGenerate: () => {
        aborted.abort();
        return Promise.reject(new Error('aborted'));
      },
    });
    const limited = wrapLanguageModel({ model, middleware: limitTokens({ limiter, key: 'ann' }) });

    await expect(
      generateText({ model: limited, prompt: 'x'.repeat(400), abortSignal: aborted.signal }),
    ).rejects.toThrow();

    expect(await usedBy(limiter)).toBeGreaterThanOrEqual(100);
    expect(await usedBy(limiter)).toBeLessThan(120);
  });
});

describe('a stream of a model', () => {
  const otters: readonly Part[] = [
    { type: 'reasoning-delta', id: '2', delta: 'x'.repeat(400) },
    { type: 'text-delta', id: '1', delta: 'otters' },
  ];

  it('arrives whole, and has cost what it reports at its end', async () => {
    const limiter = tokens(5000);
    const middleware = limitTokens({ limiter, key: 'ann' });

    const { text } = streamText({
      model: wrapLanguageModel({ model: streaming(otters, usage(5, 7)), middleware }),
      prompt: 'hi',
    });

    expect(await text).toBe('otters');
    expect(await usedBy(limiter)).toBe(12);
  });

  it.each([
    ['that its reader leaves', true],
    ['without a usage', false],
  ])('%s has cost its prompt and what it has sent, thoughts included', async (_what, leaves) => {
    const limiter = tokens(5000);
    const model = wrapLanguageModel({ model: streaming(otters), middleware: limitTokens({ limiter, key: 'ann' }) });

    const { stream } = await model.doStream({
      prompt: [{ role: 'user', content: [{ type: 'text', text: 'x'.repeat(40) }] }],
    });
    const reader = stream.getReader();
    for (;;) {
      const { done, value } = await reader.read();
      if (done || (leaves && value.type === 'text-delta')) break;
    }
    await reader.cancel();

    expect(await usedBy(limiter)).toBeGreaterThanOrEqual(10 + Math.ceil(406 / 4));
    expect(await usedBy(limiter)).toBeLessThan(130);
  });

  it('has cost what it has sent where it reports its prompt alone', async () => {
    const limiter = tokens(5000);
    const reported = { ...usage(5, 0), outputTokens: { total: undefined, text: undefined, reasoning: undefined } };
    const middleware = limitTokens({ limiter, key: 'ann' });

    const { text } = streamText({
      model: wrapLanguageModel({ model: streaming(otters, reported as never), middleware }),
      prompt: 'hi',
    });
    await text;

    expect(await usedBy(limiter)).toBe(5 + Math.ceil(406 / 4));
  });

  it('costs nothing where it does not begin', async () => {
    const limiter = tokens(5000);
    const model = new MockLanguageModelV3({ doStream: () => Promise.reject(new Error('overloaded')) });
    const limited = wrapLanguageModel({ model, middleware: limitTokens({ limiter, key: 'ann' }) });

    await expect(limited.doStream({ prompt: [] })).rejects.toThrow('overloaded');

    expect(await usedBy(limiter)).toBe(0);
  });
});

describe('a store that fails after the answer', () => {
  it('is warned of, and the answer is given', async () => {
    const warned = jest.spyOn(process, 'emitWarning').mockImplementation(() => undefined);
    const limiter = tokens(5000);
    const failing = {
      ...limiter,
      reserve: async (key: string, estimate: number) => ({
        ...(await limiter.reserve(key, estimate)),
        settle: () => Promise.reject(new Error('gone')),
      }),
    } as Limiter;
    const middleware = limitTokens({ limiter: failing, key: 'ann' });

    const { text } = await generateText({
      model: wrapLanguageModel({ model: answering(usage(1, 1)), middleware }),
      prompt: 'hi',
    });

    expect(text).toBe('otter');
    expect(warned).toHaveBeenCalledWith(
      'the tokens of a model could not be settled: gone',
      expect.objectContaining({ code: 'SLUICE_REFUND_FAILED' }),
    );
    warned.mockRestore();
  });
});
