import { PolicyError, type LimitEvent } from '@sluice/core';
import { readOptions, shown, type LimiterCore } from '@sluice/core/spi';
import { PageProblem } from './exchange.ts';
import { readLimiters, type LimiterOption } from './limits.ts';
import { findByAuthorize, findByToken, type Authorized, type FindOperator } from './operators.ts';

/** The options of {@link page}. */
export interface PageOptions<Request = never> {
  /**
   * The secret that operators log in with: as the password, with any user name, when the browser asks, or as
   * `Authorization: Bearer TOKEN`. Either this or `authorize` is required: behind a proxy on the same host, every
   * client looks local.
   */
  token?: string | undefined;
  /**
   * Whether a request may use the page: true or a name for an operator, false for others, who get 403. It receives the
   * framework's request: Express's, Fastify's, Koa's context, or a `Request`.
   */
  authorize?: ((request: Request) => Authorized | Promise<Authorized>) | undefined;
  /** The limiters to show: limiters, or results of `rateLimit()`. Default: all in this process. */
  limiters?: readonly LimiterOption[] | undefined;
  /**
   * The path of the page, such as `/limits`, if the framework does not mount handlers; other requests are passed on.
   */
  path?: string | undefined;
  /**
   * Writes the keys denied most to the Redis of the limiters: every five seconds, in a record that expires half a
   * minute later. The pages of all processes that do so show what all of them deny, and `sluice denied --redis` prints
   * it. Default false: nothing is written.
   */
  share?: boolean | undefined;
  /** Called with every change that an operator makes. Default: writes a line of JSON to standard output. */
  log?: ((change: LimitEvent) => void) | undefined;
}

/** The options, checked. */
export interface PageSettings {
  readonly findOperator: FindOperator;
  /** The response to a client that may not use the page. */
  readonly unauthorized: PageProblem;
  readonly limiters: ReadonlySet<LimiterCore> | undefined;
  readonly path: string | undefined;
  readonly share: boolean;
  readonly log: (change: LimitEvent) => void;
}

type Authorize = (request: never) => Authorized | Promise<Authorized>;

const isText = (given: unknown): boolean => typeof given === 'string' && given !== '';
const isPath = (given: unknown): boolean => /^\/.*[^/]$/s.test(String(given)) && typeof given === 'string';
const isFunction = (given: unknown): boolean => typeof given === 'function';

const OPTIONS = {
  token: option<string | undefined>(undefined, isText, 'a non-empty string', true),
  authorize: option<Authorize | undefined>(undefined, isFunction, 'a function'),
  limiters: readLimiters,
  path: option<string | undefined>(undefined, isPath, 'a path such as "/limits", without a trailing slash'),
  share: option(false, (given) => typeof given === 'boolean', 'true or false'),
  log: option<(change: LimitEvent) => void>(writeLine, isFunction, 'a function'),
};

/** @param isSecret - Whether no part of it may appear in an error. */
function option<Kept>(byDefault: Kept, is: (given: unknown) => boolean, expected: string, isSecret = false) {
  return (given: unknown, field: string): Kept => {
    if (given === undefined) return byDefault;
    if (is(given)) return given as Kept;
    const got = isSecret ? (given === '' ? 'an empty one' : typeof given) : shown(given);
    throw new PolicyError(field, `${field} must be ${expected}, got ${got}`, 'SLUICE_OPTION_INVALID');
  };
}

/** @throws PolicyError for bad or unknown options, and without `token` and `authorize`. */
export function readPageOptions(given: PageOptions): PageSettings {
  const { token, authorize, ...settings } = readOptions(given, OPTIONS, 'page');
  if (token !== undefined && authorize === undefined) {
    const fields = { 'www-authenticate': 'Basic realm="Sluice: your name, and the token", charset="UTF-8"' };
    const detail = 'the token is needed, as a password or as Authorization: Bearer TOKEN';
    const unauthorized = new PageProblem(401, detail, fields);
    return { ...settings, findOperator: findByToken(token), unauthorized };
  }
  if (token === undefined && authorize !== undefined) {
    const unauthorized = new PageProblem(403, 'this request may not use the page');
    return { ...settings, findOperator: findByAuthorize(authorize), unauthorized };
  }
  const got = token === undefined ? 'neither; is the environment variable set?' : 'both';
  const instead = 'token: process.env.LIMITS_TOKEN, or authorize: (request) => whether it may see and change limits';
  const text = `page needs either token or authorize, got ${got}; write ${instead}`;
  throw new PolicyError('token', text, 'SLUICE_OPTION_INVALID');
}

function writeLine(change: LimitEvent): void {
  console.log(JSON.stringify({ event: 'sluice.page', ...change }));
}
