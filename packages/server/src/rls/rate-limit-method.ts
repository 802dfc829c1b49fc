import type { Entrance } from '../access.ts';
import type { Service } from '../service.ts';
import { responseOf } from './answer.ts';
import { decodeRateLimitRequest } from './codec-request.ts';
import { encodeRateLimitResponse } from './codec-response.ts';
import { decide, type Decided } from './decide.ts';
import { PREFIX_BYTES, framed } from '../grpc/body.ts';
import type { Call, Method } from '../grpc/call.ts';
import { CallError, Status } from '../grpc/status.ts';
import type { RateLimitRequest } from './messages.ts';
import type { OverrideRules } from './plan.ts';

/** The part of a client's deadline that is reserved for sending the response, at least 1 ms. */
const MARGIN = 0.2;
const LEAST_MARGIN_MS = 1;

export interface RateLimitMethodOptions {
  readonly entrance: Entrance;
  readonly overrides: OverrideRules;
  /** Calls whose decision the store has not answered yet, at most. */
  readonly maxInFlight: number;
  decided(decided: Decided): void;
}

/** `envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit`. */
export class RateLimitMethod implements Method {
  readonly #service: Service;
  readonly #options: RateLimitMethodOptions;
  #inFlight = 0;

  constructor(service: Service, options: RateLimitMethodOptions) {
    this.#service = service;
    this.#options = options;
  }

  decode(message: Buffer): RateLimitRequest {
    return decodeRateLimitRequest(message);
  }

  answer(call: Call): void {
    const { entrance, overrides, maxInFlight } = this.#options;
    if (this.#inFlight >= maxInFlight) {
      throw new CallError(Status.RESOURCE_EXHAUSTED, 'too many calls wait for the store; nothing was consumed');
    }
    const caller = { entrance, authorization: call.authorization, endMs: this.#endOf(call) };
    const decided = decide(this.#service, overrides, call.request as RateLimitRequest, caller);
    if (!(decided instanceof Promise)) {
      this.#respond(call, decided);
      return;
    }
    this.#inFlight++;
    decided.then(
      (value) => {
        this.#inFlight--;
        this.#respond(call, value);
      },
      (error: unknown) => {
        this.#inFlight--;
        call.fail(error);
      },
    );
  }

  #respond(call: Call, decided: Decided): void {
    this.#options.decided(decided);
    call.answer(framed(encodeRateLimitResponse(responseOf(decided), PREFIX_BYTES)));
  }

  /**
   * When the decision is late, so that the answer is there before the client stops waiting. Undefined: in the service's
   * own time.
   */
  #endOf({ deadlineAtMs, arrivedAtMs }: Call): number | undefined {
    if (deadlineAtMs === undefined) return undefined;
    const givenMs = deadlineAtMs - arrivedAtMs;
    const usableMs = givenMs - Math.max(givenMs * MARGIN, LEAST_MARGIN_MS);
    return usableMs < this.#service.timeoutMs ? arrivedAtMs + usableMs : undefined;
  }
}
