import { AssertionError } from 'node:assert';
import { optional, readOptions, valueThat, wholeNumber, withDefault } from '../values/shape.ts';
import type { Field, Optional, Options, Reader, Settings, WithDefault } from '../values/shape.ts';
import { serve, type TestedApp } from './tested-app.ts';

const text: Reader<string> = valueThat((given) => typeof given === 'string', 'a string');

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
 * denied.
 *
 * The requests come from 127.0.0.1 and count like any others. If the limit refills while they are sent, give the store
 * a {@link fakeClock}. Requests sent one after another never reach a limit of `concurrency`.
 *
 * @param app - An Express, Koa, Fastify, NestJS or Hono application, a `node:http` server, a `node:http` handler, a
 * fetch handler (with a single parameter), or a URL.
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
      const fault = findFault(answer, expected, sent);
      if (fault !== undefined) throw makeError(answer, expected, sent, fault);
      if (answer.status === deniedStatus) return answer;
    }
  } finally {
    served.close();
  }
}

/** What is wrong with an answer; undefined if nothing is. */
function findFault(
  { status, body }: TestedAnswer,
  { limit, deniedStatus }: Expected,
  sent: number,
): string | undefined {
  if (status === deniedStatus) return sent <= limit ? `only ${String(sent - 1)} were` : undefined;
  if (status >= 500 || status === 404) {
    return `this response does not come from a limited route: ${body.slice(0, 200) || '(empty)'}`;
  }
  return sent > limit ? `${String(sent)} were` : undefined;
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
    ? 'It has no rate limit fields: no limiter acts on this route, or its options skip the request (`skip`, `allow`, `mode`, `headers`).'
    : sent <= limit
      ? 'Does each request count once? Did an earlier test use this key? Create the application, or clear its memory store, before each test.'
      : 'The limit is larger, has refilled meanwhile, or counts a different key for each request; or `deniedStatus` is different.';
  return new AssertionError({
    message: `${method} ${path}: exactly ${String(limit)} requests should be allowed, but request ${String(sent)} got ${shown}: ${fault}. ${why}`,
    actual: fault,
    expected: `${String(limit)} were`,
    operator: 'expectLimited',
    stackStartFn: expectLimited,
  });
}
