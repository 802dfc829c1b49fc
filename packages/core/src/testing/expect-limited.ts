import { AssertionError } from 'node:assert';
import {
  flag,
  oneOf,
  optional,
  readOptions,
  valueThat,
  wholeNumber,
  withDefault,
  type Field,
  type Optional,
  type Options,
  type Reader,
  type Settings,
  type WithDefault,
} from '../values/shape.ts';
import { serve, type TestedApp } from './tested-app.ts';

/** The format of header fields: the application's option `headers`. */
export type FieldFormat = 'draft-11' | 'draft-7' | 'draft-6' | 'legacy';

/** The fields of each format, and how they look. */
const FIELDS: Readonly<Record<FieldFormat, Readonly<Record<string, RegExp>>>> = {
  'draft-11': { 'RateLimit-Policy': /^".*;\s*q=\d/, RateLimit: /^".*;\s*r=\d/ },
  'draft-7': { 'RateLimit-Policy': /\d/, RateLimit: /limit=/ },
  'draft-6': {
    'RateLimit-Policy': /\d/,
    'RateLimit-Limit': /\d/,
    'RateLimit-Remaining': /\d/,
    'RateLimit-Reset': /\d/,
  },
  legacy: { 'X-RateLimit-Limit': /\d/, 'X-RateLimit-Remaining': /\d/, 'X-RateLimit-Reset': /\d/ },
};

const text: Reader<string> = valueThat((given) => typeof given === 'string', 'a text');
const readFields: Reader<FieldFormat | false> = (given, field, code) =>
  given === false ? false : oneOf(Object.keys(FIELDS) as FieldFormat[])(given, field, code);

const EXPECTED = {
  /** How many requests are allowed before one is denied: a whole number, 0 for none. */
  limit: wholeNumber(0, 1_000_000) as Field<number>,
  /** Default `/`. */
  path: withDefault(text, '/') as WithDefault<string>,
  /** Default `GET`. */
  method: withDefault(text, 'GET') as WithDefault<string>,
  /** Header fields of every request, such as an API key. Default: none. */
  headers: optional(valueThat((given) => typeof given === 'object', 'header fields')) as Optional<
    Readonly<Record<string, string>>
  >,
  /** The body of every request. Default: none. */
  body: optional(text) as Optional<string>,
  /** The status of a denial. Default `429`. */
  deniedStatus: withDefault(wholeNumber(100, 599), 429) as WithDefault<number>,
  /** The format of header fields: the application's option `headers`. `false` checks none. Default `draft-11`. */
  fields: withDefault(readFields, 'draft-11') as WithDefault<FieldFormat | false>,
  /** Whether a denial has `Retry-After`: `false` if the request can never be allowed. Default `true`. */
  retryAfter: withDefault(flag, true) as WithDefault<boolean>,
};

/** The request that {@link expectLimited} sends, and the limit that it expects. */
export interface ExpectLimitedOptions extends Options<typeof EXPECTED> {}

type Expected = Settings<typeof EXPECTED>;

/** A response of the application, with its body. */
export interface TestedAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly body: string;
}

/**
 * Sends the same request again and again, and asserts that exactly `limit` requests are allowed and the next one is
 * denied, with the header fields of a limited response: `RateLimit-Policy` and `RateLimit` in each, `Retry-After` in
 * the denial.
 *
 * The requests come from 127.0.0.1 and count like any others. If the limit refills while they are sent, give the store
 * a {@link fakeClock}. Requests in flight (`concurrency`) are not limited one after the other.
 *
 * @param app - An Express, Koa, Fastify, NestJS or Hono application, a `node:http` server, a handler of `node:http` or
 * of fetch (which is the one with a single parameter), or a URL.
 * @returns The denial.
 * @throws (rejects) AssertionError that names the unexpected response and possible causes; PolicyError for an invalid
 * option; TypeError if `app` is not an application.
 *
 * @example
 * ```ts
 * await expectLimited(app, { path: '/login', method: 'POST', limit: 5 });
 * ```
 */
export async function expectLimited(app: TestedApp, options: ExpectLimitedOptions): Promise<TestedAnswer> {
  const expected = readOptions(options, EXPECTED, 'expectLimited');
  const { path, method, headers = {}, body, deniedStatus } = expected;
  const served = await serve(app);
  try {
    for (let sent = 1; ; sent++) {
      const response = await served.send(path, { method, headers, ...(body === undefined ? {} : { body }) });
      const answer = { status: response.status, headers: response.headers, body: await response.text() };
      const isDenied = answer.status === deniedStatus;
      const fault = findFault(answer, expected, sent, isDenied);
      if (fault !== undefined) throw makeError(answer, expected, sent, fault);
      if (isDenied) return answer;
    }
  } finally {
    served.close();
  }
}

/** What is wrong with an answer; undefined if nothing is. */
function findFault(
  { status, headers, body }: TestedAnswer,
  { limit, fields, retryAfter }: Expected,
  sent: number,
  isDenied: boolean,
): string | undefined {
  if (isDenied && sent <= limit) return `only ${String(sent - 1)} were`;
  if (!isDenied && (status >= 500 || status === 404))
    return `that is the answer of no limited route: ${body.slice(0, 200) || '(empty)'}`;
  if (!isDenied && sent > limit) return `${String(sent)} were`;
  for (const [name, form] of fields === false ? [] : Object.entries(FIELDS[fields])) {
    const value = headers.get(name);
    if (value === null) return `it has no field ${name}`;
    if (!form.test(value)) return `it has no field of ${String(fields)}, but ${name}: ${value}`;
  }
  const seconds = headers.get('Retry-After');
  if (!isDenied || (retryAfter ? /^[1-9]\d*$/.test(seconds ?? '') : seconds === null)) return undefined;
  const wanted = retryAfter ? 'a Retry-After of whole seconds above 0' : 'no Retry-After';
  return `a denial has ${wanted}, and it has ${seconds ?? 'none'}`;
}

function makeError(
  { status, headers }: TestedAnswer,
  { path, method, limit }: Expected,
  sent: number,
  fault: string,
): AssertionError {
  const field = headers.get('RateLimit');
  const shown = `${String(status)}${field === null ? '' : `, RateLimit: ${field}`}`;
  const isLimited = ['RateLimit', 'RateLimit-Remaining', 'X-RateLimit-Remaining'].some((name) => headers.has(name));
  const why = !isLimited
    ? 'It has no field of a limit: no limiter acts on this route, or its options skip the request (`skip`, `allow`, `mode`, `headers`).'
    : sent <= limit
      ? 'Does each request count once? Had an earlier test used this key? Call `await limiter.resetAll()` before.'
      : 'The limit is larger, has refilled meanwhile, or counts another key for each request; or see `fields`.';
  return new AssertionError({
    message: `${method} ${path}: exactly ${String(limit)} requests should be allowed, but request ${String(sent)} got ${shown}: ${fault}. ${why}`,
    actual: fault,
    expected: `${String(limit)} were`,
    operator: 'expectLimited',
    stackStartFn: expectLimited,
  });
}
