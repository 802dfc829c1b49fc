import { AssertionError } from 'node:assert';
import { FORMATS, faultOf, type FieldFormat } from './fields.ts';
import { serve, type ServedApp, type TestedApp } from './served-app.ts';

/** The request that {@link expectLimited} sends, and the limit that it expects. */
export interface ExpectLimitedOptions {
  /** How many requests are allowed before the first one is denied: a whole number, 0 for none. */
  limit: number;
  /** Default `/`. */
  path?: string;
  /** Default `GET`. */
  method?: string;
  /** Header fields of every request, such as that of an API key. */
  headers?: Readonly<Record<string, string>>;
  /** Sent with every request. */
  body?: string;
  /** Statuses that an allowed request may have. Default: below 500, but for 404 and the status of a denial. */
  allowedStatus?: number | readonly number[];
  /** The status of a denial. Default 429. */
  deniedStatus?: number;
  /**
   * The fields of all answers: the option `headers` of the application. `false`: none is looked for. Default
   * `draft-11`.
   */
  fields?: FieldFormat | false;
  /** The name of a policy that the fields have to name. */
  policy?: string;
  /** Whether a denial has `Retry-After`. `false`: it has none, because waiting does not help. Default true. */
  retryAfter?: boolean;
}

const OPTIONS = [
  ...['limit', 'path', 'method', 'headers', 'body'],
  ...['allowedStatus', 'deniedStatus', 'fields', 'policy', 'retryAfter'],
];

/** An answer of the application, with its body read. */
export interface TestedAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly body: string;
}

/**
 * Sends equal requests, one after the other, and asserts that exactly `limit` are allowed and the next one is denied,
 * with the header fields of a limited answer: `RateLimit-Policy` and `RateLimit` with every one, `Retry-After` with the
 * denial.
 *
 * The requests come from 127.0.0.1 and count like any others. Where the limit refills while they are sent, give the
 * store a {@link fakeClock}. Requests in flight (`concurrency`) are not limited one after the other.
 *
 * @param app - An Express, Koa, Fastify, NestJS or Hono application, a `node:http` server, a handler of `node:http` or of
 * fetch (which is the one with a single parameter), or a URL.
 * @returns The denial.
 * @throws (rejects) AssertionError that states which request was answered how, and why that may be; TypeError or
 * RangeError for bad arguments.
 *
 * @example
 * ```ts
 * await expectLimited(app, { path: '/login', method: 'POST', limit: 5 });
 * ```
 */
export async function expectLimited(app: TestedApp, options: ExpectLimitedOptions): Promise<TestedAnswer> {
  checkOptions(options);
  const served = await serve(app);
  try {
    return await limited(served, options);
  } finally {
    await served.close();
  }
}

async function limited(served: ServedApp, options: ExpectLimitedOptions): Promise<TestedAnswer> {
  const { limit, deniedStatus = 429 } = options;
  for (let sent = 1; ; sent++) {
    const answer = await send(served, options);
    const isDenied = answer.status === deniedStatus;
    const fail = (actual: string, why: string): never => failed(options, sent, answer, actual, why);
    if (isDenied && sent <= limit) fail(`only ${String(sent - 1)} were`, whyDenied(sent));
    if (!isDenied && !isAllowed(answer.status, options, deniedStatus)) {
      fail('that is the answer of no limited route', `Its body: ${answer.body.slice(0, 200) || '(empty)'}`);
    }
    if (!isDenied && sent > limit) fail(`${String(sent)} were`, whyAllowed(answer));
    const fault = faultIn(answer, options, isDenied);
    if (fault !== undefined) fail(fault, whyWithout(answer));
    if (isDenied) return answer;
  }
}

async function send(
  served: ServedApp,
  { path = '/', method = 'GET', headers, body }: ExpectLimitedOptions,
): Promise<TestedAnswer> {
  const response = await served.send(path, {
    method,
    ...(headers === undefined ? {} : { headers }),
    ...(body === undefined ? {} : { body }),
  });
  return { status: response.status, headers: response.headers, body: await response.text() };
}

function isAllowed(status: number, { allowedStatus }: ExpectLimitedOptions, deniedStatus: number): boolean {
  if (allowedStatus === undefined) return status < 500 && status !== 404 && status !== deniedStatus;
  return typeof allowedStatus === 'number' ? status === allowedStatus : allowedStatus.includes(status);
}

function faultIn(
  { headers }: TestedAnswer,
  { fields = 'draft-11', policy, retryAfter = true }: ExpectLimitedOptions,
  isDenied: boolean,
): string | undefined {
  const fault = fields === false ? undefined : faultOf(headers, fields, policy);
  if (fault !== undefined || !isDenied) return fault;
  const seconds = headers.get('Retry-After');
  if (!retryAfter) return seconds === null ? undefined : `it has Retry-After: ${seconds}, and none is expected`;
  if (seconds === null) return 'it has no field Retry-After';
  return /^[1-9]\d*$/.test(seconds)
    ? undefined
    : `its Retry-After is not a whole number of seconds above 0: ${seconds}`;
}

function whyDenied(sent: number): string {
  return sent === 1
    ? 'Had an earlier test used up this limit? Make the application in each test, or call `await limiter.resetAll()`.'
    : 'Does each request count once? Had an earlier test used this key? Call `await limiter.resetAll()` before.';
}

function whyAllowed(answer: TestedAnswer): string {
  if (hasNone(answer)) return UNLIMITED;
  return 'The limit is larger, has refilled meanwhile, or counts another key for each request.';
}

function whyWithout(answer: TestedAnswer): string {
  return hasNone(answer) ? UNLIMITED : 'Its fields follow the option `headers` of the application: see `fields`.';
}

function hasNone({ headers }: TestedAnswer): boolean {
  return ['RateLimit', 'RateLimit-Remaining', 'X-RateLimit-Remaining'].every((name) => !headers.has(name));
}

const UNLIMITED =
  'It has no field of a limit: no limiter acts on this route, or its options skip the request (`skip`, `allow`, `mode`, `headers`).';

function failed(
  { path = '/', method = 'GET', limit }: ExpectLimitedOptions,
  sent: number,
  { status, headers }: TestedAnswer,
  what: string,
  why: string,
): never {
  const field = headers.get('RateLimit');
  const shown = field === null ? String(status) : `${String(status)}, RateLimit: ${field}`;
  throw new AssertionError({
    message: `${method} ${path}: exactly ${String(limit)} requests should be allowed, but request ${String(sent)} got ${shown}: ${what}. ${why}`,
    actual: what,
    expected: `${String(limit)} were`,
    operator: 'expectLimited',
    stackStartFn: expectLimited,
  });
}

function checkOptions(options: ExpectLimitedOptions): void {
  if (typeof options !== 'object' || (options as unknown) === null) {
    throw new TypeError(
      `expectLimited takes (app, { limit, path, ... }), got ${(options as unknown) === null ? 'null' : typeof options} for its options`,
    );
  }
  const unknown = Object.keys(options).find((name) => !OPTIONS.includes(name));
  if (unknown !== undefined)
    throw new TypeError(`expectLimited has no option ${unknown}; known: ${OPTIONS.join(', ')}`);
  const { limit, fields = 'draft-11' } = options;
  if (!Number.isSafeInteger(limit) || limit < 0) {
    throw new RangeError(`limit must be a whole number, the requests that are allowed, got ${String(limit)}`);
  }
  if (fields !== false && !FORMATS.includes(fields)) {
    throw new TypeError(`fields must be ${FORMATS.join(', ')} or false, got ${fields as string}`);
  }
}
