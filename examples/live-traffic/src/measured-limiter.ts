import { rateLimit, type Decision, type RateLimitOptions } from '@sluice/express';
import type { Request, RequestHandler } from 'express';

/** Told of every decision, the key it was about, and how long the request waited for it. */
export type DecisionListener = (
  decision: Decision,
  key: string | Readonly<Record<string, string>>,
  tookMs: number,
) => void;

/** `rateLimit()`, and a clock held beside it. */
export function measuredLimiter(options: RateLimitOptions, listener: DecisionListener): RequestHandler {
  const startedAtMs = new WeakMap<Request, number>();
  const limiter = rateLimit({
    ...options,
    onDecision: (decision, { key, request }) => {
      listener(decision, key, performance.now() - (startedAtMs.get(request) ?? NaN));
    },
  });
  return (request, response, next) => {
    startedAtMs.set(request, performance.now());
    limiter(request, response, next);
  };
}
