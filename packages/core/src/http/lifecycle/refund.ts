import type { LimiterCore } from '../../limiter/core.ts';
import type { Decision } from '../../limiter/decision.ts';
import { messageOf } from '../../errors.ts';
import { settle } from '../../limiter/settle.ts';
import type { Ask } from '../../stores/store.ts';
import { warnOnce } from '../../warnings.ts';
import { NO_RESPONSE, argumentFor, type FrameworkReader, type RawRequest, type RawResponse } from '../framework.ts';
import type { Refund, RefundWhen } from '../options.ts';
import type { PlacedWant } from '../place.ts';
import { isGone, onClose } from './disconnect.ts';

/** The status of a response that was cut off, for the rules by status: a failure. */
const ABORTED = 499;

/** Gives units back when the response has ended, by the option `refund` of the places that took them. */
export function refundOnResponse<Request, Response>(
  framework: FrameworkReader<Request, Response>,
  core: LimiterCore,
  wants: readonly PlacedWant<Request, Response>[],
  decision: Decision,
  request: Request,
  response: Response,
): void {
  const raw = framework.rawRequest(request);
  const rawResponse = framework.rawResponse(response);
  const places = [...new Set(wants.map(({ settings }) => settings))].filter(({ refund }) => refund !== undefined);
  const ended = async (isCut: boolean): Promise<void> => {
    const status = isCut ? ABORTED : rawResponse.statusCode;
    const givingBack = new Set<unknown>();
    for (const settings of places) {
      const { when, onAbort } = settings.refund as Refund<Request, Response>;
      try {
        if (isCut && !onAbort) continue;
        if (await givesBack(when, request, argumentFor(framework, response), status)) givingBack.add(settings);
      } catch (error) {
        warnOfRefund(error); // the other places still have rules of their own
      }
    }
    if (givingBack.size === 0) return;
    const unitsFor = ({ cost, want }: AskOf<Request, Response>): number => (givingBack.has(want.settings) ? cost : 0);
    await settle(core, decision, 'give', unitsFor as (ask: Ask) => number);
  };
  const call = (isCut: boolean): void => void ended(isCut).catch(warnOfRefund);
  (places.some(({ refund }) => refund?.onAbort === true) ? whenEnded : whenSent)(raw, rawResponse, call);
}

/** What a decision of an adapter has asked. */
interface AskOf<Request, Response> extends Ask {
  readonly want: PlacedWant<Request, Response>;
}

function warnOfRefund(error: unknown): void {
  warnOnce('SLUICE_REFUND_FAILED', `a refund failed, and its units stay taken: ${messageOf(error)}`);
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
function whenSent(request: RawRequest, response: RawResponse, sent: (isCut: false) => void): void {
  const finish = (): void => {
    response.off('close', close);
    if (isSent(request, response)) sent(false);
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
