import { SluiceError, type Decision } from '@sluice/old-core/kernels';
import { seconds, type Field } from './headers.ts';

/** The response to a denied request: problem details (RFC 9457) and the header fields that go with them. */
export interface Denial {
  readonly status: number;
  readonly fields: readonly Field[];
  readonly contentType: 'application/problem+json';
  readonly body: string;
  /** Which limit denies the request and how long to wait, in words: as in the body. */
  readonly detail: string;
  /** The message of the error, with `throw: true`. Clients may see it. */
  readonly reason: string;
}

const NO_STORE: Field = { name: 'Cache-Control', value: 'no-store', append: false };
const CONTENT_TYPE = 'application/problem+json';
const LONGER_UNITS = [
  ['days', 86_400],
  ['hours', 3600],
  ['minutes', 60],
] as const;
const QUOTA_EXCEEDED = 'https://iana.org/assignments/http-problem-types#quota-exceeded';

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

/**
 * The response to a denied request. It has Retry-After, unless waiting does not help or the wait is unknown. It never
 * contains the key.
 *
 * @param slotRetryAfterMs - The wait to report when only concurrency slots are missing.
 */
export function denialOf(
  decision: Decision,
  slotRetryAfterMs?: number,
  statuses: DenialStatuses = DENIAL_STATUSES,
): Denial {
  if (decision.outcome === 'unavailable') return problem(503, 'Service Unavailable', 'The rate limiter cannot decide');
  if (decision.outcome === 'unconfigured') return problem(403, 'Forbidden', 'No rate limit is configured for this');
  const violated = decision.policies.filter(({ allowed }) => !allowed).map(({ name }) => name);
  const fields: Field[] = [NO_STORE];
  const waitMs = waitOf(decision, slotRetryAfterMs);
  const waitS = waitMs === undefined ? undefined : Math.max(seconds(waitMs), 1);
  if (waitS !== undefined) fields.push({ name: 'Retry-After', value: String(waitS), append: false });
  const status = decision.outcome === 'blocked' ? statuses.blocked : statuses.denied;
  const detail = detailOf(decision, violated, waitS);
  return {
    status,
    fields,
    contentType: CONTENT_TYPE,
    body: JSON.stringify({
      ...{ type: QUOTA_EXCEEDED, title: 'Quota Exceeded', status, detail },
      'violated-policies': violated,
    }),
    detail,
    reason: 'Too many requests',
  };
}

/** Which limit denies the request, and how long to wait, in words. */
function detailOf({ outcome, retryAfterMs }: Decision, names: readonly string[], waitS: number | undefined): string {
  const limits = `${names.length === 1 ? 'limit' : 'limits'} ${names.join(' and ')}`;
  const why =
    outcome === 'blocked'
      ? `The ${limits} ${names.length === 1 ? 'blocks' : 'block'} this client`
      : `The ${limits} ${names.length === 1 ? 'is' : 'are'} used up`;
  if (waitS !== undefined) return `${why}. Try again in ${inWords(waitS)}.`;
  return retryAfterMs === null ? `${why}, and waiting does not help.` : `${why}. Try again later.`;
}

/** Seconds in words: rounded up to whole minutes, hours or days once they are more than two. */
function inWords(waitS: number): string {
  for (const [unit, unitS] of LONGER_UNITS) {
    if (waitS > 2 * unitS) return `${String(Math.ceil(waitS / unitS))} ${unit}`;
  }
  return waitS === 1 ? '1 second' : `${String(waitS)} seconds`;
}

/**
 * The longest known wait. When a slot becomes free is unknown, unless the key is blocked: then it is when the block
 * expires.
 */
function waitOf({ retryAfterMs, policies }: Decision, slotRetryAfterMs: number | undefined): number | undefined {
  if (retryAfterMs === null) return undefined;
  let longest: number | undefined;
  for (const { allowed, unit, retryAfterMs: ownMs, nextAfterMs } of policies) {
    const waitMs = unit === undefined ? ownMs : (nextAfterMs ?? slotRetryAfterMs);
    if (!allowed && waitMs !== null && waitMs !== undefined) longest = Math.max(longest ?? 0, waitMs);
  }
  return longest;
}

/** The response to a request on which no limit has decided: see `undecided-denials.ts`, too. */
export function problem(status: number, title: string, reason: string, detail?: string): Denial {
  return {
    status,
    fields: [NO_STORE],
    contentType: CONTENT_TYPE,
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
  /** Undefined without a decision: the request has no key, or its client is on a `deny` list. */
  readonly decision: Decision | undefined;

  /**
   * @param written - Reads a header field from the response, with the items that other limiters of the request wrote.
   */
  constructor(
    { status, fields, reason }: Denial,
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
