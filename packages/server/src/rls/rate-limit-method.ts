import type { Entrance } from '../access.ts';
import type { Service } from '../service.ts';
import { makeResponse } from './answer.ts';
import { decodeRateLimitRequest } from './codec-request.ts';
import { writeRateLimitResponse } from './codec-response.ts';
import { decide } from './decide.ts';
import { writeFrame } from '../grpc/body.ts';
import type { Call, Method } from '../grpc/call.ts';
import { CallError, Status } from '../grpc/status.ts';
import type { RateLimitRequest } from './messages.ts';

/** The part of a client's deadline that is reserved for sending the response, at least 1 ms. */
const MARGIN = 0.2;
const MIN_MARGIN_MS = 1;

/**
 * `envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit`.
 *
 * @param maxInFlight - Calls whose decision the store has not answered yet, at most.
 */
export function rateLimitMethod(service: Service, entrance: Entrance, maxInFlight: number): Method {
  let inFlight = 0;
  const answer = async (call: Call): Promise<void> => {
    inFlight++;
    try {
      if (inFlight > maxInFlight) {
        throw new CallError(Status.RESOURCE_EXHAUSTED, 'too many calls wait for the store; nothing was consumed');
      }
      const caller = { entrance, authorization: call.authorization, endMs: readEnd(call, service.timeoutMs) };
      const decided = await decide(service, call.request as RateLimitRequest, caller);
      call.answer(writeFrame(makeResponse(decided, service.stats), writeRateLimitResponse));
    } catch (error) {
      call.fail(error);
    } finally {
      inFlight--;
    }
  };
  return { decode: decodeRateLimitRequest, answer };
}

/**
 * The decision's deadline, so that the answer arrives before the client stops waiting. Undefined: the service's own
 * timeout.
 */
function readEnd({ deadlineAtMs, arrivedAtMs }: Call, timeoutMs: number): number | undefined {
  if (deadlineAtMs === undefined) return undefined;
  const givenMs = deadlineAtMs - arrivedAtMs;
  const usableMs = givenMs - Math.max(givenMs * MARGIN, MIN_MARGIN_MS);
  return usableMs < timeoutMs ? arrivedAtMs + usableMs : undefined;
}
