import type { Decision } from '../decision.ts';
import type { LimiterCore } from '../limiter-core.ts';
import type { AskedPart } from '../managed/resolve.ts';
import { warnOnce } from '../warnings.ts';
import type { Framework, RawResponse } from './framework.ts';
import type { Asking } from './asking.ts';
import type { RefundWhen } from './options.ts';
import { callTurns } from './turns.ts';

/** Has units given back, once the answer is known, by the rules of the layers that took them. */
export function settleLater<Request, Response>(
  framework: Framework<Request, Response>,
  core: LimiterCore,
  askings: readonly Asking<Request, Response>[],
  decision: Decision,
  request: Request,
  response: Response,
): void {
  if (!decision.allowed || askings.every(({ layer }) => layer.refund === undefined)) return;
  const raw = framework.rawResponse(response);
  const settle = async (status: number): Promise<void> => {
    const chosen = new Set<AskedPart>();
    for (const { layer, parts } of askings) {
      if (layer.refund === undefined) continue;
      try {
        if (!(await givesBack(layer.refund.when, request, response, status))) continue;
      } catch (error) {
        warnOfRefund(error); // the rules of other layers hold nevertheless
        continue;
      }
      for (const part of parts) chosen.add(part);
    }
    if (chosen.size === 0) return;
    // What one layer takes alone is given back whole: its parts need not be these very objects.
    await core.taken.refundParts(decision, (part) => askings.length === 1 || chosen.has(part));
    callTurns(askings);
  };
  whenFinished(raw, () => {
    settle(raw.statusCode).catch(warnOfRefund);
  });
}

/** Of a refund that nobody waits for. */
export function warnOfRefund(error: unknown): void {
  warnOnce(
    'SLUICE_REFUND_FAILED',
    `units could not be given back: ${error instanceof Error ? error.message : String(error)}`,
  );
}

/** Whether an answer that is known gives its units back. */
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
 * Calls back once a response has been handed over whole. One that is cut off, or whose client leaves before, never
 * calls.
 */
function whenFinished(response: RawResponse, finished: () => void): void {
  const { socket } = response; // gone from the response when it finishes
  const finish = (): void => {
    response.off('close', close);
    // A cut ends what is being written, so `finish` comes all the same.
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
