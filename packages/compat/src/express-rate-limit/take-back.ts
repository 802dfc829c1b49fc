import type { Request, Response } from 'express';
import type { Configuration } from './configuration.ts';

/** Does something once the response is known: `finish` when it was sent, `close` and `error` when it was not. */
export type AfterResponse = (act: (event: 'finish' | 'close' | 'error') => Promise<void>) => void;

/**
 * Listens at once, before anything is awaited, so that no end of a response is missed. Undefined where no hit is ever
 * taken back.
 */
export function listen(
  response: Response,
  { skipFailedRequests, skipSuccessfulRequests }: Configuration,
): AfterResponse | undefined {
  if (!skipFailedRequests && !skipSuccessfulRequests) return undefined;
  const events = skipFailedRequests ? (['finish', 'close', 'error'] as const) : (['finish'] as const);
  const seen = events.map(
    (event) => [event, new Promise<void>((resolve) => void response.once(event, resolve))] as const,
  );
  return (act) => {
    for (const [event, ended] of seen) void ended.then(() => act(event));
  };
}

/** Takes a hit back when the response turns out to be one that does not count: at most once, and in its window. */
export function takeBackAfter(
  after: AfterResponse,
  config: Configuration,
  counted: {
    readonly request: Request;
    readonly response: Response;
    readonly key: string;
    readonly resetTime?: Date | undefined;
  },
): void {
  const { request, response, key, resetTime } = counted;
  const endsMs = resetTime?.getTime();
  let isTakenBack = false;
  const takeBack = async (): Promise<void> => {
    if (isTakenBack) return;
    isTakenBack = true;
    if (endsMs === undefined || Date.now() < endsMs) await config.store.decrement(key);
  };
  const act = async (event: 'finish' | 'close' | 'error'): Promise<void> => {
    if (event === 'close' && response.writableEnded) return;
    if (event !== 'finish') return takeBack();
    const isSuccess = await config.requestWasSuccessful(request, response);
    if (isSuccess ? config.skipSuccessfulRequests : config.skipFailedRequests) await takeBack();
  };
  after((event) =>
    act(event).catch((error: unknown) => {
      config.logger.error(error, `express-rate-limit: error while a hit was taken back after the event ${event}.`);
    }),
  );
}
