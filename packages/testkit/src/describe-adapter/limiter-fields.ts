import type { HttpAnswer } from './http-client.ts';

/** The header fields of an answer that are the limiter's. */
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

/** Those of an answer that no limiter wrote on. */
export const NO_FIELDS: LimiterFields = { policy: undefined, state: undefined, retryAfter: undefined };
