import type { Decision } from '@sluice/old-core';
import { type LimiterCore, type UnresolvedPart, warnOfRefund } from '@sluice/old-core/spi';
import { NO_RESPONSE, argumentOf, type Framework, type RawRequest, type RawResponse } from '../framework.ts';
import type { LimitRequest } from '../limit-resolver.ts';
import type { RefundWhen } from '../options.ts';
import { isGone, onClose } from './disconnect.ts';

/** Gives units back when the response has ended, by the option `refund` of the layers that took them. */
export function refundOnResponse<Request, Response>(
  framework: Framework<Request, Response>,
  core: LimiterCore,
  requests: readonly LimitRequest<Request, Response>[],
  decision: Decision,
  request: Request,
  response: Response,
): void {
  if (!decision.allowed || requests.every(({ layer }) => layer.settings.refund === undefined)) return;
  const rawRequest = framework.rawRequest(request);
  const rawResponse = framework.rawResponse(response);
  const settle = async (status: number, isCut: boolean): Promise<void> => {
    const argument = argumentOf(framework, response);
    const chosen = new Set<UnresolvedPart>();
    for (const { layer, parts } of requests) {
      const { refund } = layer.settings;
      if (refund === undefined || (isCut && !refund.onAbort)) continue;
      try {
        if (!(await givesBack(refund.when, request, argument, isCut ? ABORTED : status))) continue;
      } catch (error) {
        warnOfRefund(error); // the other layers still apply their rules
        continue;
      }
      for (const part of parts) chosen.add(part);
    }
    if (chosen.size === 0) return;
    // A decision of one layer is refunded whole: its parts may be other objects than these.
    await core.settlements.refundParts(decision, (part) => requests.length === 1 || chosen.has(part));
  };
  const ended = (isCut: boolean): void => {
    settle(rawResponse.statusCode, isCut).catch(warnOfRefund);
  };
  if (requests.some(({ layer }) => layer.settings.refund?.onAbort === true)) whenEnded(rawRequest, rawResponse, ended);
  else whenSent(rawRequest, rawResponse, ended);
}

/** The status of a response that was cut off, for the rules by status: a failure. */
const ABORTED = 499;

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
function whenSent(request: RawRequest, response: RawResponse, sent: (isCut: false) => void): void {
  const finish = (): void => {
    response.off('close', close);
    if (isSent(request, response)) sent(false);
  };
  const close = (): void => {
    response.off('finish', finish);
  };
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
