import type { Decision } from '../decision.ts';
import { SluiceError } from '../errors.ts';
import { seconds, type Field } from './headers.ts';

/** An answer that refuses: problem details (RFC 9457) and the fields that go with them. */
export interface Refusal {
  readonly status: 403 | 429 | 503;
  readonly fields: readonly Field[];
  readonly contentType: 'application/problem+json';
  readonly body: string;
  /** For people, in an error. */
  readonly reason: string;
}

const NO_STORE: Field = { name: 'Cache-Control', value: 'no-store', append: false };
const CONTENT_TYPE = 'application/problem+json';
const QUOTA_EXCEEDED = 'https://iana.org/assignments/http-problem-types#quota-exceeded';

/**
 * The answer to a request that was refused. Carries Retry-After unless waiting does not help, or nobody knows for how long;
 * never the key.
 *
 * @param slotRetryAfterMs - What to say where only slots are wanting.
 */
export function refusalOf(decision: Decision, slotRetryAfterMs?: number): Refusal {
  if (decision.outcome === 'unavailable') return plain(503, 'Service Unavailable', 'The rate limiter cannot decide');
  if (decision.outcome === 'unconfigured') return plain(403, 'Forbidden', 'No rate limit is configured for this');
  const violated = decision.policies.filter(({ allowed }) => !allowed).map(({ name }) => name);
  const fields: Field[] = [NO_STORE];
  const waitMs = waitOf(decision, slotRetryAfterMs);
  if (waitMs !== undefined) {
    fields.push({ name: 'Retry-After', value: String(Math.max(seconds(waitMs), 1)), append: false });
  }
  return {
    status: 429,
    fields,
    contentType: CONTENT_TYPE,
    body: JSON.stringify({ type: QUOTA_EXCEEDED, title: 'Quota Exceeded', status: 429, 'violated-policies': violated }),
    reason: 'Too many requests',
  };
}

/** The longest wait that somebody knows of: a slot is free when it is released, or its block is over. */
function waitOf({ retryAfterMs, policies }: Decision, slotRetryAfterMs: number | undefined): number | undefined {
  if (retryAfterMs === null) return undefined;
  let longest: number | undefined;
  for (const { allowed, unit, retryAfterMs: ownMs, nextAfterMs } of policies) {
    const waitMs = unit === undefined ? ownMs : (nextAfterMs ?? slotRetryAfterMs);
    if (!allowed && waitMs !== null && waitMs !== undefined) longest = Math.max(longest ?? 0, waitMs);
  }
  return longest;
}

/** The answer to a request that has no key to count it by. */
export function missingKeyRefusal(): Refusal {
  const reason = 'The request carries nothing to count it by';
  return plain(403, 'Forbidden', reason, 'This request carries nothing to count it by.');
}

/** The answer to a client on a `deny` list. */
export function forbiddenRefusal(): Refusal {
  return plain(403, 'Forbidden', 'Forbidden');
}

function plain(status: 403 | 503, title: string, reason: string, detail?: string): Refusal {
  return {
    status,
    fields: [NO_STORE],
    contentType: CONTENT_TYPE,
    body: JSON.stringify({ type: 'about:blank', title, status, detail }),
    reason,
  };
}

/**
 * What `throw: true` hands to the framework's error handler. Frameworks read `status`, `headers` and `expose` by
 * themselves.
 */
export class RateLimitError extends SluiceError {
  override readonly name = 'RateLimitError';
  readonly status: number;
  readonly statusCode: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly expose = true;
  /** Undefined when nothing was decided: the request had no key, or its client is on a `deny` list. */
  readonly decision: Decision | undefined;

  /** @param written - A header field as it stands on the answer, with what other limiters of the request wrote. */
  constructor(
    { status, fields, reason }: Refusal,
    decision: Decision | undefined,
    ownFields: readonly Field[],
    written: (name: string) => string | undefined,
  ) {
    super('SLUICE_DENIED', reason);
    this.message = reason; // frameworks show it to the client
    this.status = status;
    this.statusCode = status;
    this.headers = Object.fromEntries([...ownFields, ...fields].map(({ name }) => [name, written(name) ?? '']));
    this.decision = decision;
  }
}
