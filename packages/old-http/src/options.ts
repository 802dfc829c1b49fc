import type { Decision, Duration } from '@sluice/old-core';
import {
  duration,
  flag,
  oneOf,
  optional,
  readInner,
  readValues,
  timerMs,
  valueThat,
  wholeNumber,
  type Option,
  type OptionTable,
  type SettingsOf,
} from '@sluice/old-core/spi';
import { ClientList } from './keys/client-list.ts';
import type { Key, KeyPart } from './keys/key-parts.ts';
import { parseKey } from './keys/read-key.ts';
import { DENIAL_STATUSES, type DenialStatuses } from './response/denial.ts';
import { fieldWriter, type FieldWriter, type HeadersOption } from './response/headers.ts';

type MaybePromise<T> = T | Promise<T>;
/** A function of the request and its response, which is undefined where none is at hand, as in `keyFor(request)`. */
export type OfRequest<Request, Response, T> = (request: Request, response: Response | undefined) => MaybePromise<T>;

/**
 * Which responses give their units back: status below 400, status 400 and above, or those for which a function
 * returns true.
 */
export type RefundWhen<Request, Response> =
  'on-success' | 'on-failure' | ((request: Request, response: Response) => MaybePromise<boolean>);

/** {@link RefundWhen}, and whether it also judges responses that were cut off. */
export interface RefundOptions<Request, Response> {
  readonly when: RefundWhen<Request, Response>;
  /**
   * Whether `when` also judges responses that were cut off, or whose client left before them: as failures, or by its
   * function. Default false: they give nothing back.
   */
  readonly onAbort?: boolean;
}

/** The treatment of a request without a key: 403, no limit, or one budget for all of them. */
export type OnMissingKey = 'deny' | 'skip' | 'shared';

/** The options of each limit on whose request it is, and what it costs. */
export interface PerLimitOptions<Request, Response = unknown> {
  /** What requests are counted by: see docs/guides/choosing-keys.md. Default `byIp()`. */
  key?: Key<Request, Response> | undefined;
  /**
   * Units that a request takes: a whole number, or a function that returns one. If the function returns 0, this limit
   * is left out. A cost above the limit is denied without `Retry-After`. Default `1`.
   */
  cost?: number | OfRequest<Request, Response, number> | undefined;
  /**
   * A key is missing if a part is undefined, null or `''`: then `deny` responds 403, `skip` does not limit,
   * `shared` uses one budget for all. Among `limits` it is `skip` for `byUser()` and `byHeader()`. Default `deny`.
   */
  onMissingKey?: OnMissingKey | undefined;
}

/** The options on which requests are limited. */
export interface RequestOptions<Request, Early> {
  /** Requests that are not limited at all: those for which the function returns true. */
  skip?: OfRequest<Request, Early, boolean> | undefined;
  /**
   * Clients that are not limited: addresses, CIDR ranges (`'10.0.0.0/8'`), or whole keys. In `limits`, an allowed key
   * is exempt from its own limit only.
   */
  allow?: readonly string[] | undefined;
  /** Clients that get 403: addresses, CIDR ranges, or whole keys. Takes precedence over `allow`. */
  deny?: readonly string[] | undefined;
  /**
   * CORS preflights. `separate` gives each address a budget for them: the same policies where the key is made of
   * address, route and method alone, else 600 a minute. `count` counts them like other requests, `skip` lets them pass.
   * Default `separate`.
   */
  preflights?: 'separate' | 'count' | 'skip' | undefined;
}

/** The options on what follows from a decision. */
export interface ResponseOptions<Request, Response, Early> {
  /**
   * `report` decides, counts and calls `onDecision`, but denies no request and sends no fields. Default `enforce`.
   */
  mode?: 'enforce' | 'report' | undefined;
  /** The formats of header fields: see docs/reference/headers.md. `false` sends none. Default `draft-11`. */
  headers?: HeadersOption | undefined;
  /** Adds the fields to Access-Control-Expose-Headers if the response allows an origin. Default `false`. */
  cors?: boolean | undefined;
  /**
   * Sends the response of a denied request. Status and header fields are set already. End the response or, in Fastify
   * and NestJS, return it; else the client waits forever. In Koa both arguments are the context. It also runs for 503,
   * but not for 403.
   */
  onDenied?: ((request: Request, response: Early, decision: Decision) => unknown) | undefined;
  /**
   * Passes a denial to the framework's error handler, as a `RateLimitError` with `status`, `statusCode`, `code`,
   * `headers` and `decision`, instead of sending a response. Takes precedence over `onDenied`. Default `false`.
   */
  throw?: boolean | undefined;
  /** The statuses of denials, from 400 to 599. Default `{ denied: 429, blocked: 429, deny: 403, missingKey: 403 }`. */
  status?: Partial<DenialStatuses> | undefined;
  /**
   * Called with every decision, for logs and metrics. It is awaited, and its error becomes the request's error. Never
   * use the key as a metric label.
   */
  onDecision?:
    | ((
        decision: Decision,
        context: {
          readonly key: string | Readonly<Record<string, string>>;
          readonly request: Request;
          readonly response: Early;
        },
      ) => unknown)
    | undefined;
  /**
   * Gives units back when the response has ended. They are taken before, so concurrent requests cannot exceed the
   * limit. A response that is cut off gives nothing back, unless `onAbort` is true. See docs/guides/refunds.md.
   */
  refund?: RefundWhen<Request, Response> | RefundOptions<Request, Response> | undefined;
  /**
   * `Retry-After` when only slots of a `concurrency` policy are missing. Without it such a denial has none, because
   * the time of the next release is unknown.
   */
  retryAfter?: Duration | undefined;
  /**
   * The longest time that a request holds its `concurrency` slots, in whole milliseconds: ten minutes. Afterwards they
   * are released although the response goes on, with the warning `SLUICE_SLOT_TIMEOUT`. See docs/guides/concurrency.md.
   * Default `600 000`.
   */
  maxSlotMs?: number | undefined;
  /**
   * The most requests that this process holds at the same time until a `leakyBucket` lets them start. Further ones are
   * denied with their delay as `Retry-After`, and take nothing; 0 holds none. A key that holds more than are free gets
   * no other, so that one client does not fill it; `byAll()` may. See docs/guides/pacing.md. Default `1000`.
   */
  maxPaced?: number | undefined;
}

/**
 * The options about requests and responses.
 *
 * @typeParam Early - What functions get as the response that are called before there is one: undefined in frameworks
 * whose handlers return it.
 */
export interface SharedOptions<Request, Response, Early = Response>
  extends RequestOptions<Request, Early>, ResponseOptions<Request, Response, Early> {}

/** The options as a layer keeps them: checked, and those that are kept in another form. */
export type HttpSettings<Request, Response> = SettingsOf<
  SharedOptions<Request, Response>,
  Pick<SharedOptions<Request, Response>, 'skip' | 'onDenied' | 'onDecision'> & {
    readonly allow: ClientList | undefined;
    readonly deny: ClientList | undefined;
    readonly headers: FieldWriter;
    readonly refund: Refund<Request, Response> | undefined;
    readonly retryAfter: number | undefined;
    readonly status: DenialStatuses;
  }
>;

/** The option `refund`, complete. */
export type Refund<Request, Response> = Required<RefundOptions<Request, Response>>;

const listOfClients = optional((given, name) => new ClientList(given, name));
const aFunction = optional(valueThat<never>((given) => typeof given === 'function', 'a function'));

/** The options above: the check and the default of each. In this order: the first bad option is reported. */
const OPTIONS: OptionTable<HttpSettings<never, never>> = {
  skip: aFunction,
  allow: listOfClients,
  deny: listOfClients,
  preflights: oneOf(['separate', 'count', 'skip']),
  mode: oneOf(['enforce', 'report']),
  headers: (given) => fieldWriter(given as HeadersOption | undefined),
  cors: flag(false),
  onDenied: aFunction,
  throw: flag(false),
  status: parseStatuses,
  onDecision: aFunction,
  refund: optional(parseRefund),
  retryAfter: optional(duration()),
  maxSlotMs: timerMs(600_000),
  maxPaced: wholeNumber(0, Infinity, 'a whole number of requests, at least 0', 1000),
};

/** The checked options of each limit. */
export interface PerLimitSettings<Request, Response> {
  readonly key: readonly KeyPart<Request, Response>[];
  readonly cost: NonNullable<PerLimitOptions<Request, Response>['cost']>;
  /** Undefined where the user has not said what a missing key means: that depends on the key. */
  readonly onMissingKey: OnMissingKey | undefined;
}

const PER_LIMIT: OptionTable<PerLimitSettings<never, never>> = {
  key: parseKey,
  cost: valueThat(
    (given) => typeof given === 'function' || (Number.isSafeInteger(given) && Number(given) >= 1),
    'a whole number, at least 1, or a function of the request',
    1,
  ),
  onMissingKey: optional(oneOf(['deny', 'skip', 'shared'])),
};

export const PER_LIMIT_OPTIONS: readonly string[] = Object.keys(PER_LIMIT);

/**
 * @param where - What errors write before the names.
 * @throws PolicyError for the first bad option.
 */
export function readPerLimitOptions<Request, Response>(
  options: object,
  where = '',
): PerLimitSettings<Request, Response> {
  return readValues(options, PER_LIMIT, where) as PerLimitSettings<Request, Response>;
}

export const SHARED_OPTIONS: readonly string[] = Object.keys(OPTIONS);
/** Those that a place inside another inherits from there: all but `refund`, which belongs to one limit. */
export const INHERITED_OPTIONS: readonly string[] = SHARED_OPTIONS.filter((name) => name !== 'refund');

/** @throws PolicyError for the first bad option. */
export function readSharedOptions<Request, Response>(options: object): HttpSettings<Request, Response> {
  return readValues(options, OPTIONS) as HttpSettings<Request, Response>;
}

const aStatus = (name: keyof DenialStatuses): Option<number> =>
  wholeNumber(400, 599, 'a whole number from 400 to 599', DENIAL_STATUSES[name]);
const STATUS: OptionTable<DenialStatuses> = {
  denied: aStatus('denied'),
  blocked: aStatus('blocked'),
  deny: aStatus('deny'),
  missingKey: aStatus('missingKey'),
};

function parseStatuses(given: unknown = {}, name: string): DenialStatuses {
  return readInner(given, STATUS, name);
}

const REFUND: OptionTable<Refund<never, never>> = {
  when: valueThat(
    (given) => typeof given === 'function' || given === 'on-success' || given === 'on-failure',
    '"on-success", "on-failure" or a function of request and response',
  ),
  onAbort: flag(false),
};

function parseRefund(given: unknown, name: string): Refund<never, never> {
  if (typeof given === 'object' && given !== null) return readInner(given, REFUND, name);
  return { when: REFUND.when(given, name, {} as never), onAbort: false };
}
