import { SluiceError } from '../../errors.ts';
import type { Decision } from '../../limiter/decision.ts';
import { field, seconds, type Field } from './headers.ts';

/** The response to a denied request: problem details (RFC 9457) and the header fields that go with them. */
export interface Denial {
  readonly status: number;
  readonly fields: readonly Field[];
  readonly contentType: 'application/problem+json';
  readonly body: string;
  /** Which limit denied the request and how long to wait, in words, as in the body. */
  readonly detail: string;
  /** The message of the error, with `throw: true`. Clients may see it. */
  readonly reason: string;
}

/** The statuses of denials. */
export interface DenialStatuses {
  /** For a request over its limit. */
  readonly denied: number;
  /** For a key that is blocked. */
  readonly blocked: number;
  /** For a client on a `deny` list. */
  readonly deny: number;
  /** For a request without a key. */
  readonly missingKey: number;
}

export const DENIAL_STATUSES: DenialStatuses = { denied: 429, blocked: 429, deny: 403, missingKey: 403 };

const NO_STORE = field('Cache-Control', 'no-store');
const QUOTA_EXCEEDED = 'https://iana.org/assignments/http-problem-types#quota-exceeded';
/**
 * The response to a denied request. It has Retry-After, unless waiting does not help or the wait is unknown. It never
 * contains the key.
 *
 * @param slotRetryAfterMs - The wait to report if only concurrency slots are missing.
 */
export function denialFor(
  decision: Decision,
  slotRetryAfterMs?: number,
  statuses: DenialStatuses = DENIAL_STATUSES,
): Denial {
  if (decision.outcome === 'unavailable') return problem(503, 'Service Unavailable', 'The rate limiter cannot decide');
  if (decision.outcome === 'unconfigured') return problem(403, 'Forbidden', 'No rate limit is configured for this');
  const violated = decision.policies.filter(({ allowed }) => !allowed).map(({ name }) => name);
  const waitMs = findKnownWait(decision, slotRetryAfterMs);
  const waitS = waitMs === undefined ? undefined : Math.max(seconds(waitMs), 1);
  const status = decision.outcome === 'blocked' ? statuses.blocked : statuses.denied;
  const detail = explain(decision, violated, waitS);
  const body = { type: QUOTA_EXCEEDED, title: 'Quota Exceeded', status, detail, 'violated-policies': violated };
  return {
    status,
    fields: waitS === undefined ? [NO_STORE] : [NO_STORE, field('Retry-After', String(waitS))],
    contentType: 'application/problem+json',
    body: JSON.stringify(body),
    detail,
    reason: 'Too many requests',
  };
}

/** Which limit denies the request, and how long to wait, in words. */
function explain(
  { outcome, retryAfterMs, policies }: Decision,
  denying: readonly string[],
  waitS: number | undefined,
): string {
  const never = policies.filter((one) => !one.allowed && one.retryAfterMs === null && one.limit > 0);
  const fits = outcome === 'blocked' || never.length === 0;
  const names = fits ? denying : never.map(({ name }) => name);
  const limits = `${names.length === 1 ? 'limit' : 'limits'} ${names.join(' and ')}`;
  let why = `The ${limits} ${names.length === 1 ? 'is' : 'are'} used up`;
  if (outcome === 'blocked') why = `The ${limits} ${names.length === 1 ? 'blocks' : 'block'} this client`;
  else if (!fits) why = `The request costs more than the ${limits} ever ${names.length === 1 ? 'allows' : 'allow'}`;
  if (waitS !== undefined) return `${why}. Try again in ${waitS === 1 ? '1 second' : `${String(waitS)} seconds`}.`;
  return retryAfterMs === null ? `${why}, and waiting does not help.` : `${why}. Try again later.`;
}

/**
 * The longest known wait. The time until a slot is free is unknown, unless the key is blocked: then it is the block's.
 */
function findKnownWait({ retryAfterMs, policies }: Decision, slotRetryAfterMs: number | undefined): number | undefined {
  if (retryAfterMs === null) return undefined;
  let longest: number | undefined;
  for (const { allowed, unit, retryAfterMs: ownMs, nextAfterMs } of policies) {
    const waitMs = unit === undefined ? ownMs : (nextAfterMs ?? slotRetryAfterMs);
    if (!allowed && waitMs !== null && waitMs !== undefined) longest = Math.max(longest ?? 0, waitMs);
  }
  return longest;
}

/** The response to a request without a key. */
export function missingKeyDenial({ missingKey }: DenialStatuses): Denial {
  const reason = 'This request could not be identified';
  return problem(missingKey, getTitle(missingKey), reason, `${reason}.`);
}

/** The response to a client on a `deny` list. It contains only the status. */
export function forbiddenDenial({ deny }: DenialStatuses): Denial {
  return problem(deny, getTitle(deny), getTitle(deny));
}

function getTitle(status: number): string {
  return status === 403 ? 'Forbidden' : 'Denied';
}

/** The response to a request that no limit could decide. */
function problem(status: number, title: string, reason: string, detail?: string): Denial {
  return {
    status,
    fields: [NO_STORE],
    contentType: 'application/problem+json',
    body: JSON.stringify({ type: 'about:blank', title, status, detail }),
    detail: detail ?? `${reason}.`,
    reason,
  };
}

/**
 * The error that `throw: true` passes to the framework's error handler. Frameworks read its `status`, `headers` and
 * `expose`.
 */
export class RateLimitError extends SluiceError {
  override readonly name = 'RateLimitError';
  readonly status: number;
  readonly statusCode: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly expose = true;
  /** The body of the response: problem details (RFC 9457), as JSON. */
  readonly body: string;
  /** Undefined without a decision: the request has no key, or its client is on a `deny` list. */
  readonly decision: Decision | undefined;

  constructor(
    { status, reason, body }: Denial,
    decision: Decision | undefined,
    headers: Readonly<Record<string, string>>,
  ) {
    super('SLUICE_DENIED', reason);
    this.message = reason; // frameworks show it to the client
    this.status = status;
    this.statusCode = status;
    this.headers = headers;
    this.body = body;
    this.decision = decision;
  }
}
