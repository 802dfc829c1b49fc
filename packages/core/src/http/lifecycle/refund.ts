import type { LimiterCore } from '../../limiter/core.ts';
import type { Decision } from '../../limiter/decision.ts';
import { getMessage } from '../../errors.ts';
import type { PolicyAsk } from '../../limiter/limits.ts';
import { settle } from '../../limiter/settle.ts';
import type { Ask } from '../../stores/store.ts';
import { warnOnce } from '../../warnings.ts';
import type { AnyReader, RawRequest, RawResponse } from '../framework.ts';
import type { Call, HttpWant } from '../plan.ts';
import { isGone, onClose } from './disconnect.ts';

/** The status of a response that was cut off, for the rules by status: a failure. */
const ABORTED = 499;

/** Refunds units when the response has ended, as the option `refund` of the places that took them says. */
export function refundOnResponse(framework: AnyReader, core: LimiterCore, call: Call, decision: Decision): void {
  const { request, response, wants } = call;
  const rawResponse = framework.rawResponse(response);
  if (rawResponse === undefined) return; // it has no end
  const ended = async (isCut: boolean): Promise<void> => {
    const status = isCut ? ABORTED : rawResponse.statusCode;
    const argument = framework.argument === undefined ? response : framework.argument(response);
    const givingBack = new Set<unknown>();
    for (const refund of new Set(wants.map((want) => want.refund))) {
      if (refund === undefined) continue;
      const { when, onAbort } = refund;
      try {
        if (isCut && !onAbort) continue;
        const rule = typeof when === 'function' ? when(request, argument) : (when === 'on-success') === status < 400;
        if (await rule) givingBack.add(refund);
      } catch (error) {
        warnAboutRefund(error); // the other places still have rules of their own
      }
    }
    if (givingBack.size === 0) return;
    const unitsFor = (ask: Ask): number =>
      givingBack.has(((ask as PolicyAsk).want as HttpWant).refund) ? ask.cost : 0;
    await settle(core, decision, 'give', unitsFor);
  };
  onEnd(framework.rawRequest(request), rawResponse, (isCut) => void ended(isCut).catch(warnAboutRefund));
}

function warnAboutRefund(error: unknown): void {
  warnOnce('SLUICE_REFUND_FAILED', `a refund failed, so its units stay used: ${getMessage(error)}`);
}

/** Calls back once: when a response has been sent completely or cut off, or its client has left first. */
function onEnd(request: RawRequest, response: RawResponse, ended: (isCut: boolean) => void): void {
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
 * Whether a response that has finished was sent completely: one that was cut off emits `finish` too. Reads the socket
 * from the request, because a response pipelined behind others has none yet.
 */
function isSent({ socket }: RawRequest, { writableEnded, stream }: RawResponse): boolean {
  if (stream === undefined) return socket?.destroyed !== true;
  return writableEnded && (stream.rstCode ?? 0) === 0;
}
