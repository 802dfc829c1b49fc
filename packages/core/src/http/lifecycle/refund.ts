import type { LimiterCore } from '../../limiter/core.ts';
import type { Decision } from '../../limiter/decision.ts';
import { messageOf } from '../../errors.ts';
import { refundDecision } from '../../limiter/settle.ts';
import { warnOnce } from '../../warnings.ts';
import { NO_RESPONSE, argumentFor, type Framework, type RawRequest, type RawResponse } from '../framework.ts';
import type { Refund, RefundWhen } from '../options.ts';
import { isGone, onClose } from './disconnect.ts';

/** The status of a response that was cut off, for the rules by status: a failure. */
const ABORTED = 499;

/** Gives units back when the response has ended, by the option `refund`. */
export function refundOnResponse<Request, Response>(
  framework: Framework<Request, Response>,
  core: LimiterCore,
  { when, onAbort }: Refund<Request, Response>,
  decision: Decision,
  request: Request,
  response: Response,
): void {
  const raw = framework.rawRequest(request);
  const rawResponse = framework.rawResponse(response);
  const ended = async (isCut: boolean): Promise<void> => {
    try {
      const status = isCut ? ABORTED : rawResponse.statusCode;
      if (await givesBack(when, request, argumentFor(framework, response), status)) await refundDecision(core, decision);
    } catch (error) {
      warnOnce('SLUICE_REFUND_FAILED', `a refund failed, and its units stay taken: ${messageOf(error)}`);
    }
  };
  if (onAbort) whenEnded(raw, rawResponse, (isCut) => void ended(isCut));
  else whenSent(raw, rawResponse, () => void ended(false));
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

/** Calls back when a response has been sent completely. */
function whenSent(request: RawRequest, response: RawResponse, sent: () => void): void {
  const finish = (): void => {
    response.off('close', close);
    if (isSent(request, response)) sent();
  };
  const close = (): void => void response.off('finish', finish);
  response.once('finish', finish);
  response.once('close', close);
}

/** Calls back once: when a response has been sent completely, or was cut off, or its client has left before it. */
function whenEnded(request: RawRequest, response: RawResponse, ended: (isCut: boolean) => void): void {
  if (response === NO_RESPONSE) return; // it has no end
  if (isGone(request, response)) {
    ended(!isSent(request, response));
    return;
  }
  const end = (isCut: boolean): void => {
    response.off('finish', finish);
    stopListening();
    ended(isCut);
  };
  const finish = (): void => {
    end(!isSent(request, response));
  };
  const stopListening = onClose(request, response, () => {
    end(true);
  });
  response.once('finish', finish);
}

/**
 * Whether a response that has finished was sent completely: one that was cut off emits `finish` too. Asks the request
 * for its socket, because a response that is pipelined behind others has none yet.
 */
function isSent({ socket }: RawRequest, { writableEnded, stream }: RawResponse): boolean {
  if (stream === undefined) return socket?.destroyed !== true;
  return writableEnded && (stream.rstCode ?? 0) === 0;
}
