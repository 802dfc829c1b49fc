import type { HttpAnswer } from './http-client.ts';

/** The limiter's header fields of a response. */
export interface LimiterFields {
  readonly policy: string | undefined;
  readonly state: string | undefined;
  readonly retryAfter: string | undefined;
}

/** Reads them. */
export function fieldsOf({ headers }: HttpAnswer): LimiterFields {
  return {
    policy: headers['ratelimit-policy'],
    state: headers['ratelimit'],
    retryAfter: headers['retry-after'],
  };
}

/** The fields of a response without a limiter. */
export const NO_FIELDS: LimiterFields = { policy: undefined, state: undefined, retryAfter: undefined };
