import { SluiceError, type Decision, type Limiter, type Reservation } from '@sluice/core';
import { messageOf, warnOnce } from '@sluice/core/spi';
import { denialOf } from '@sluice/http/spi';
import { followStream } from './follow-stream.ts';

/** A call of a model, as the AI SDK passes it to its middleware. */
export interface ModelCall {
  readonly prompt: unknown;
  readonly maxOutputTokens?: number | undefined;
  readonly abortSignal?: AbortSignal | undefined;
}

/** Whose budget a call counts in, and who decides. */
export interface TokenLimits<Key> {
  /** Counts tokens. With `limits`, several budgets are one decision: `key` has a key for each then. */
  readonly limiter: Limiter<Key>;
  /** Such as the id of the user for whom the model is wrapped, or a function of the call. */
  readonly key: Key | ((call: ModelCall) => Key);
  /**
   * Tokens that are taken before the call: a whole number, at least 1. The largest possible number keeps the limit exact.
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
    super('SLUICE_DENIED', `${denialOf(decision).detail} The model was not asked.`);
    this.decision = decision;
  }
}

const OUTPUT_TOKENS = 1000;
const CHARACTERS_PER_TOKEN = 4;

/**
 * Limits the tokens of a model: reserves an estimate before a call, and settles the usage that the model reports after
 * it. A stream that is cut counts its prompt and what it has sent, thoughts included; a call that fails before it sends
 * anything counts nothing, unless it was aborted: then its prompt. Two round trips a call.
 *
 * @throws (rejects, from the model) {@link TokenLimitError}, and as `limiter.reserve` does.
 */
export function limitTokens<Key>({ limiter, key, estimate = estimateOf }: TokenLimits<Key>): TokenMiddleware {
  const reserve = async (call: ModelCall): Promise<Reservation> => {
    const subject = typeof key === 'function' ? (key as (call: ModelCall) => Key)(call) : key;
    const reservation = await limiter.reserve(subject, estimate(call));
    if (!reservation.decision.allowed) throw new TokenLimitError(reservation.decision);
    return reservation;
  };
  /** Asks the model; gives the reservation back if it fails. */
  const ask = async <Result>(call: ModelCall, settle: Settle, model: () => PromiseLike<Result>): Promise<Result> => {
    try {
      return await model();
    } catch (error) {
      await settle(call.abortSignal?.aborted === true ? promptTokens(call) : 0);
      throw error;
    }
  };
  return {
    specificationVersion: 'v3',
    async wrapGenerate({ doGenerate, params }) {
      const { settle, decision } = await reserve(params);
      const settleOnce = settledOnce(settle);
      const result = await ask(params, settleOnce, doGenerate);
      const { content } = result as { readonly content?: unknown };
      await settleOnce(tokensOf(result.usage, promptTokens(params), charactersIn(content)) ?? decision.cost);
      return result;
    },
    async wrapStream<Part, Result extends { stream: ReadableStream<Part> }>({ doStream, params }: StreamCall<Result>) {
      const settle = settledOnce((await reserve(params)).settle);
      const result = await ask(params, settle, doStream);
      let usage: unknown;
      let sent = 0;
      const settleAtEnd = (): Promise<void> =>
        settle(tokensOf(usage, promptTokens(params), sent) ?? promptTokens(params) + tokensIn(sent));
      const stream = followStream(result.stream, {
        part(part) {
          const given = part as { readonly delta?: unknown; readonly usage?: unknown };
          if (typeof given.delta === 'string') sent += given.delta.length;
          usage = given.usage ?? usage;
        },
        ended: settleAtEnd,
        cut: settleAtEnd,
      });
      return { ...result, stream };
    },
  };
}

interface StreamCall<Result> {
  readonly doStream: () => PromiseLike<Result>;
  readonly params: ModelCall;
}

type Settle = (tokens: number) => Promise<void>;

/** Settles once. The answer is there whether or not the store has been told, so a failure is a warning. */
function settledOnce(settle: Settle): Settle {
  let isSettled = false;
  return async (tokens) => {
    if (isSettled) return;
    isSettled = true;
    await settle(tokens).catch((error: unknown) => {
      warnOnce('SLUICE_REFUND_FAILED', `the tokens of a model could not be settled: ${messageOf(error)}`);
    });
  };
}

function estimateOf(call: ModelCall): number {
  return promptTokens(call) + (call.maxOutputTokens ?? OUTPUT_TOKENS);
}

function promptTokens({ prompt }: ModelCall): number {
  return Math.max(tokensIn(charactersIn(prompt)), 1);
}

function tokensIn(characters: number): number {
  return Math.ceil(characters / CHARACTERS_PER_TOKEN);
}

/** The characters of all texts in a prompt. Files, which are bytes or URLs in `data`, have none. */
function charactersIn(value: unknown): number {
  if (typeof value === 'string') return value.length;
  if (typeof value !== 'object' || value === null || ArrayBuffer.isView(value)) return 0;
  return Object.entries(value).reduce((sum, [name, part]) => (name === 'data' ? sum : sum + charactersIn(part)), 0);
}

/**
 * The tokens of a usage, as the model reports it; undefined if it does not, or says 0 of both. One part alone does not
 * make the other one free.
 *
 * @param prompt - The tokens of the prompt, if only those of the answer are reported.
 * @param sent - The characters of the answer, if only the tokens of the prompt are reported.
 */
function tokensOf(usage: unknown, prompt: number, sent: number): number | undefined {
  if (typeof usage !== 'object' || usage === null) return undefined;
  const { inputTokens, outputTokens } = usage as Readonly<Record<'inputTokens' | 'outputTokens', unknown>>;
  const [input, output] = [countOf(inputTokens), countOf(outputTokens)];
  if ((input ?? 0) === 0 && (output ?? 0) === 0) return undefined;
  return Math.ceil((input ?? prompt) + (output ?? tokensIn(sent)));
}

/** A number, or the `total` of its kinds. */
function countOf(tokens: unknown): number | undefined {
  const count = typeof tokens === 'object' && tokens !== null ? (tokens as { readonly total?: unknown }).total : tokens;
  return typeof count === 'number' && count >= 0 && Number.isFinite(count) ? count : undefined;
}
