import type { Request, Response } from 'express';
import type { Configuration } from './configuration.ts';

type End = 'finish' | 'close' | 'error';

/**
 * The ends of a response that may take a hit back. Listens at once, before anything is awaited, so that none is missed.
 */
export function listenForEnds(
  response: Response,
  { skipFailedRequests, skipSuccessfulRequests }: Configuration,
): readonly Promise<End>[] {
  if (!skipFailedRequests && !skipSuccessfulRequests) return [];
  const ends: readonly End[] = skipFailedRequests ? ['finish', 'close', 'error'] : ['finish'];
  return ends.map(
    (end) =>
      new Promise((resolve) => {
        response.once(end, () => {
          resolve(end);
        });
      }),
  );
}

/** Takes a hit back when the response turns out to be one that does not count: at most once, and in its window. */
export function takeBackAfter(
  ends: readonly Promise<End>[],
  config: Configuration,
  {
    request,
    response,
    key,
    endsMs = Infinity,
  }: {
    readonly request: Request;
    readonly response: Response;
    readonly key: string;
    readonly endsMs: number | undefined;
  },
): void {
  let isTakenBack = false;
  const act = async (event: End): Promise<void> => {
    if (event === 'close' && response.writableEnded) return;
    if (event === 'finish') {
      const isSuccess = await config.requestWasSuccessful(request, response);
      if (!(isSuccess ? config.skipSuccessfulRequests : config.skipFailedRequests)) return;
    }
    if (isTakenBack || Date.now() >= endsMs) return;
    isTakenBack = true;
    await config.store.decrement(key);
  };
  for (const end of ends) {
    end.then(act).catch((error: unknown) => {
      config.logger.error(error, 'express-rate-limit: error while a hit was taken back.');
    });
  }
}
