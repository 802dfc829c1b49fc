import { PolicyError } from '@sluice/old-core';
import { flag, invalidOption, readOptions, type OptionTable } from '@sluice/old-core/spi';
import { PageProblem } from './exchange.ts';
import type { PageChange } from './history.ts';
import { readLimiters, type LimiterOption, type LiveLimiter } from './limits.ts';
import { operatorsBy, operatorsByToken, type Authorized, type FindOperator } from './operators.ts';

/** The options of {@link page}. */
export interface PageOptions<Request = never> {
  /**
   * What operators log in with: as the password of any name that a browser asks for, or as `Authorization: Bearer TOKEN`.
   * Either this or `authorize` is needed: behind a proxy on the same host, every client looks local.
   */
  token?: string | undefined;
  /**
   * Whether a request may use the page: true or a name for an operator, false for others, who get 403. It is given the
   * request of the framework: Express, Fastify, Koa's context, or a `Request`.
   */
  authorize?: ((request: Request) => Authorized | Promise<Authorized>) | undefined;
  /** The limiters that are shown, as limiters or as what `rateLimit()` returned. Default: all of this process. */
  limiters?: readonly LimiterOption[] | undefined;
  /** `hashed` shows a hash in place of each key. Default `plain`. */
  showKeys?: 'plain' | 'hashed' | undefined;
  /** The path of the page, where the framework does not mount handlers; other requests are passed on. Such as `/limits`. */
  path?: string | undefined;
  /**
   * Makes the ids, and the hashes, of keys. Processes behind one address need the same, so that each finds the keys that
   * another has shown. Default: the token, or a random text.
   */
  secret?: string | undefined;
  /**
   * Writes the keys denied most, and the changes of operators, to the Redis of the limiters: every five seconds, in a
   * record that ends half a minute later. The pages of all processes that do so show what all of them deny, and
   * `sluice denied --redis` prints it. Default false: nothing is written.
   */
  share?: boolean | undefined;
  /** Is told every change that an operator makes. Default: writes a line of JSON to the standard output. */
  log?: ((change: PageChange) => void) | undefined;
}

/** The options, checked. */
export interface PageSettings {
  readonly findOperator: FindOperator;
  /** What a client gets that may not use the page. */
  readonly unauthorized: PageProblem;
  readonly limiters: ReadonlySet<LiveLimiter> | undefined;
  readonly showKeys: 'plain' | 'hashed';
  readonly path: string | undefined;
  readonly secret: string | undefined;
  readonly share: boolean;
  readonly log: (change: PageChange) => void;
}

interface Read extends Omit<PageSettings, 'findOperator' | 'unauthorized'> {
  readonly token: string | undefined;
  readonly authorize: PageOptions['authorize'];
}

const OPTIONS: OptionTable<Read> = {
  token: (given) => checked(given, given === undefined || isText(given), 'token', 'a text that is not empty'),
  authorize: (given) => checked(given, given === undefined || typeof given === 'function', 'authorize', 'a function'),
  limiters: readLimiters,
  showKeys: (given = 'plain') =>
    checked(given, given === 'plain' || given === 'hashed', 'showKeys', '"plain" or "hashed"'),
  path: (given) =>
    checked(
      given,
      given === undefined || isPath(given),
      'path',
      'a path such as "/limits", without a slash at its end',
    ),
  secret: (given) => checked(given, given === undefined || isText(given), 'secret', 'a text that is not empty'),
  share: flag(false),
  log: (given = writeLine) => checked(given, typeof given === 'function', 'log', 'a function'),
};

/** @throws PolicyError for bad or unknown options, and without `token` and `authorize`. */
export function readPageOptions(given: PageOptions): PageSettings {
  const { token, authorize, ...settings } = readOptions(given, OPTIONS, 'page');
  if ((token === undefined) === (authorize === undefined)) {
    throw new PolicyError(
      'token',
      `page needs either token or authorize, got ${token === undefined ? 'neither' : 'both'}: write token: process.env.LIMITS_TOKEN, or authorize: (request) => whether it may see and change limits`,
      'SLUICE_OPTION_INVALID',
    );
  }
  if (token !== undefined) {
    const fields = { 'www-authenticate': 'Basic realm="Sluice: your name, and the token", charset="UTF-8"' };
    const unauthorized = new PageProblem(
      401,
      'the token is needed, as a password or as Authorization: Bearer TOKEN',
      fields,
    );
    return { ...settings, secret: settings.secret ?? token, findOperator: operatorsByToken(token), unauthorized };
  }
  const unauthorized = new PageProblem(403, 'this request may not use the page');
  return { ...settings, findOperator: operatorsBy(authorize as never), unauthorized };
}

function checked(given: unknown, is: boolean, field: string, expected: string): never {
  if (is) return given as never;
  throw invalidOption(field, expected, ['token', 'secret'].includes(field) ? typeof given : given); // no part of a secret in an error
}

function isText(given: unknown): boolean {
  return typeof given === 'string' && given !== '';
}

function isPath(given: unknown): boolean {
  return typeof given === 'string' && given.startsWith('/') && given.length > 1 && !given.endsWith('/');
}

function writeLine(change: PageChange): void {
  console.log(JSON.stringify({ event: 'sluice.page', ...change }));
}
