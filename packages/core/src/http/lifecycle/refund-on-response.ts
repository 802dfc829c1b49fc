import type { Decision } from '../../engine/decision.ts';
import type { LimiterCore } from '../../limiter/core.ts';
import type { UnresolvedPart } from '../../managed/resolve.ts';
import { warnOnce } from '../../warnings.ts';
import type { Framework, RawResponse } from '../framework.ts';
import type { LimitRequest } from '../limit-resolver.ts';
import type { RefundWhen } from '../option-types.ts';
import { notifyWaiters } from './consume-when-refunded.ts';

/** Gives units back when the response has ended, by the option `refund` of the layers that took them. */
export function refundOnResponse<Request, Response>(
  framework: Framework<Request, Response>,
  core: LimiterCore,
  requests: readonly LimitRequest<Request, Response>[],
  decision: Decision,
  request: Request,
  response: Response,
): void {
  if (!decision.allowed || requests.every(({ layer }) => layer.refund === undefined)) return;
  const raw = framework.rawResponse(response);
  const settle = async (status: number): Promise<void> => {
    const chosen = new Set<UnresolvedPart>();
    for (const { layer, parts } of requests) {
      if (layer.refund === undefined) continue;
      try {
        if (!(await givesBack(layer.refund.when, request, response, status))) continue;
      } catch (error) {
        warnOfRefund(error); // the other layers still apply their rules
        continue;
      }
      for (const part of parts) chosen.add(part);
    }
    if (chosen.size === 0) return;
    // A decision of one layer is refunded whole: its parts may be other objects than these.
    await core.settlements.refundParts(decision, (part) => requests.length === 1 || chosen.has(part));
    notifyWaiters(requests);
  };
  whenFinished(raw, () => {
    settle(raw.statusCode).catch(warnOfRefund);
  });
}

/** Reports the failure of a refund that runs in the background. */
export function warnOfRefund(error: unknown): void {
  warnOnce(
    'SLUICE_REFUND_FAILED',
    `units could not be given back: ${error instanceof Error ? error.message : String(error)}`,
  );
}

/** Whether a response that has ended gives its units back. */
function givesBack<Request, Response>(
  when: RefundWhen<Request, Response>,
  request: Request,
  response: Response,
  status: number,
): boolean | Promise<boolean> {
  if (typeof when === 'function') return when(request, response);
  return when === 'on-success' ? status < 400 : status >= 400;
}

/**
 * Calls back when a response has been sent completely. Never calls back for one that is cut off, or whose client
 * leaves before.
 */
function whenFinished(response: RawResponse, finished: () => void): void {
  const { socket } = response; // Node removes it from the response on finish
  const finish = (): void => {
    response.off('close', close);
    // A response that is cut off emits `finish` too.
    const { stream } = response;
    const isCut =
      stream === undefined ? socket?.destroyed === true : !response.writableEnded || (stream.rstCode ?? 0) !== 0;
    if (!isCut) finished();
  };
  const close = (): void => {
    response.off('finish', finish);
  };
  response.once('finish', finish);
  response.once('close', close);
}
