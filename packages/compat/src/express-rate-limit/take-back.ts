import type { Request, Response } from 'express';
import type { Configuration } from './configuration.ts';
import type { RateLimitInfo } from './options.ts';

type End = 'finish' | 'close' | 'error';

/**
 * Takes a hit back if its response turns out not to count: at most once, and in its window. Listens at once, before
 * anything is awaited, so that no end is missed.
 *
 * @returns Call it with the hit, once it is counted.
 */
export function takeBackAfter(
  request: Request,
  response: Response,
  { skipFailedRequests, skipSuccessfulRequests, requestWasSuccessful, store, logger }: Configuration,
): (hit: RateLimitInfo) => void {
  if (!skipFailedRequests && !skipSuccessfulRequests) return () => undefined;
  let counted: (hit: RateLimitInfo) => void = () => undefined;
  const hit = new Promise<RateLimitInfo>((resolve) => (counted = resolve));
  let isTakenBack = false;
  const end = async (event: End): Promise<void> => {
    const { key, resetTime } = await hit;
    if (event === 'close' && response.writableEnded) return;
    if (event === 'finish') {
      const isSuccess = await requestWasSuccessful(request, response);
      if (!(isSuccess ? skipSuccessfulRequests : skipFailedRequests)) return;
    }
    if (isTakenBack || Date.now() >= (resetTime?.getTime() ?? Infinity)) return;
    isTakenBack = true;
    await store.decrement(key);
  };
  for (const event of skipFailedRequests ? (['finish', 'close', 'error'] as const) : (['finish'] as const)) {
    response.once(event, () => {
      end(event).catch((error: unknown) => {
        logger.error(error, 'express-rate-limit: error while a hit was taken back.');
      });
    });
  }
  return counted;
}
