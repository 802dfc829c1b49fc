import { SluiceError, type Decision, type Limiter } from '@sluice/core';
import { denialFor } from '@sluice/core/http';
import { followStream } from './follow-stream.ts';
import {
  countCharacters,
  estimateTokens,
  countPromptTokens,
  countTokens,
  readUsedTokens,
  type ModelCall,
} from './model-tokens.ts';

export type { ModelCall };

/** The limiter that decides, and the key that a call counts for. */
export interface TokenLimits<Key> {
  /** Counts tokens. With `limits`, several budgets are one decision, and `key` has a key for each. */
  readonly limiter: Limiter<Key>;
  /** For example, the id of the user for whom the model is wrapped, or a function of the call. */
  readonly key: Key | ((call: ModelCall) => Key);
  /**
   * Tokens to take before the call: a whole number, at least 1. The largest possible number keeps the limit exact.
   * Default: a quarter of the characters of the prompt, without files, and `maxOutputTokens`, or 1000.
   */
  readonly estimate?: (call: ModelCall) => number;
}

/** Middleware for `wrapLanguageModel` of the AI SDK. */
export interface TokenMiddleware {
  readonly specificationVersion: 'v3';
  wrapGenerate: <Result extends { readonly usage: unknown }>(call: {
    readonly doGenerate: () => PromiseLike<Result>;
    readonly params: ModelCall;
  }) => Promise<Result>;
  wrapStream: <Part, Result extends { stream: ReadableStream<Part> }>(call: {
    readonly doStream: () => PromiseLike<Result>;
    readonly params: ModelCall;
  }) => Promise<Result>;
}

/** A call that is denied. The model was not asked, and the AI SDK does not retry. */
export class TokenLimitError extends SluiceError {
  override readonly name = 'TokenLimitError';
  readonly decision: Decision;

  constructor(decision: Decision) {
    super('SLUICE_DENIED', `${denialFor(decision).detail} The model was not asked.`);
    this.decision = decision;
  }
}

/**
 * Limits the tokens of a model: reserves an estimate before a call, and settles the usage that the model reports after
 * it. A stream that is cut off counts its prompt and what it has sent, reasoning included; a call that fails before it
 * sends anything counts nothing, but an aborted one counts its prompt. Two round trips per call.
 *
 * @throws (rejects, from the model) {@link TokenLimitError}, and as `limiter.reserve` does.
 */
export function limitTokens<Key>({ limiter, key, estimate = estimateTokens }: TokenLimits<Key>): TokenMiddleware {
  /** Reserves, then asks the model; cancels the reservation if that fails. */
  const ask = async <Result>(call: ModelCall, model: () => PromiseLike<Result>) => {
    const subject = typeof key === 'function' ? (key as (call: ModelCall) => Key)(call) : key;
    const reservation = await limiter.reserve(subject, estimate(call));
    if (!reservation.decision.allowed) throw new TokenLimitError(reservation.decision);
    try {
      return { reservation, result: await model() };
    } catch (error) {
      await reservation.settle(call.abortSignal?.aborted === true ? countPromptTokens(call) : 0);
      throw error;
    }
  };
  return {
    specificationVersion: 'v3',
    async wrapGenerate({ doGenerate, params }) {
      const { reservation, result } = await ask(params, doGenerate);
      const { content } = result as { readonly content?: unknown };
      const used = readUsedTokens(result.usage, countPromptTokens(params), countCharacters(content));
      await reservation.settle(used ?? reservation.decision.cost);
      return result;
    },
    async wrapStream({ doStream, params }) {
      const { reservation, result } = await ask(params, doStream);
      const prompt = countPromptTokens(params);
      let usage: unknown;
      let sent = 0;
      const end = () => reservation.settle(readUsedTokens(usage, prompt, sent) ?? prompt + countTokens(sent));
      const stream = followStream(result.stream, {
        part(part) {
          const given = part as { readonly delta?: unknown; readonly usage?: unknown };
          if (typeof given.delta === 'string') sent += given.delta.length;
          usage = given.usage ?? usage;
        },
        ended: end,
        cut: end,
      });
      return { ...result, stream };
    },
  };
}
