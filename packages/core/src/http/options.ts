import { PolicyError, shown } from '../errors.ts';
import type { Decision } from '../limiter/decision.ts';
import type { Limiter } from '../limiter/limiter.ts';
import { LIMITER, type LimiterCoreOptions } from '../limiter/options.ts';
import type { MarkedPolicy } from '../limiter/policy-function.ts';
import type { Policy } from '../policies/index.ts';
import type { Duration } from '../values/duration.ts';
import { parseName } from '../values/name.ts';
import {
  duration,
  flag,
  functionThat,
  oneOf,
  optional,
  optionsOf,
  readOptions,
  timerMs,
  valueThat,
  wholeNumber,
  withDefault,
  type Reader,
  type Settings,
} from '../values/shape.ts';
import { ClientList } from './keys/client-list.ts';
import { parseKey, type Key, type KeyPart } from './keys/key-parts.ts';
import type { MaybePromise } from './maybe.ts';
import { DENIAL_STATUSES, type DenialStatuses } from './response/denial.ts';
import { fieldWriter, type FieldWriter, type HeadersOption } from './response/headers.ts';

/** A function of the request and the response. The response is undefined if there is none, as in `keyFor(request)`. */
export type OfRequest<Request, Response, T> = (request: Request, response: Response | undefined) => MaybePromise<T>;

/**
 * Which requests are refunded: those with a status below 400, those with 400 or above, or those for which a function
 * returns true.
 */
export type RefundWhen<Request, Response> =
  'on-success' | 'on-failure' | ((request: Request, response: Response) => MaybePromise<boolean>);

/** {@link RefundWhen}, with an option for responses that were cut off. */
export interface RefundOptions<Request, Response> {
  readonly when: RefundWhen<Request, Response>;
  /**
   * Whether `when` also applies to a response that was cut off, or whose client disconnected first: it counts as a
   * failure, or is passed to the function. Default false: it is not refunded.
   */
  readonly onAbort?: boolean;
}

/** What happens to a request without a key: 403, no limit, or one budget for all such requests. */
export type OnMissingKey = 'deny' | 'skip' | 'shared';

/** What requests are counted by, and what each costs. */
export interface PerLimitOptions<Request, Response = unknown> {
  /** What requests are counted by: see docs/guides/choosing-keys.md. Default `byIp()`. */
  key?: Key<Request, Response> | undefined;
  /**
   * The units that a request takes: a whole number, or a function that returns one. If it returns 0, this limit is
   * skipped. A cost above the limit is denied without `Retry-After`. Default `1`.
   */
  cost?: number | OfRequest<Request, Response, number> | undefined;
  /**
   * What happens if a part of the key is undefined, null or `''`: `deny` returns 403, `skip` skips the limit, `shared`
   * uses one budget for all such requests. In `limits`, the default for `byUser()` and `byHeader()` is `skip`. Default
   * `deny`.
   */
  onMissingKey?: OnMissingKey | undefined;
}

/**
 * A policy; several policies, all of which must allow; the result of `managed()` or `policyOf()`; or a function that
 * chooses one of these for a request. The policies of a function need names: different names never share state, except
 * in `limits`, where the policies of an entry share a count.
 */
export type PolicyOption<Request, Response = unknown> =
  Policy | readonly Policy[] | MarkedPolicy | OfRequest<Request, Response, Policy | readonly Policy[] | MarkedPolicy>;

/** One of several limits that are decided together, each with its own key. */
export interface HttpLimitOptions<Request, Response = unknown> extends PerLimitOptions<Request, Response> {
  readonly name: string;
  readonly policy: PolicyOption<Request, Response>;
}

/**
 * The options that concern requests and responses.
 *
 * @typeParam Early - The type of the response for functions that are called before there is one: undefined in
 * frameworks whose handlers return it.
 */
export interface SharedOptions<Request, Response, Early = Response> {
  /** Requests for which the function returns true are not limited at all. */
  skip?: OfRequest<Request, Early, boolean> | undefined;
  /**
   * Clients that are not limited: addresses, CIDR ranges (`'10.0.0.0/8'`), or whole keys. In `limits`, an allowed key
   * is exempt only from its own limit.
   */
  allow?: readonly string[] | undefined;
  /** Clients that always get 403: addresses, CIDR ranges, or whole keys. Takes precedence over `allow`. */
  deny?: readonly string[] | undefined;
  /**
   * How CORS preflights are counted. `separate` gives each address its own budget for them: the same policies if the
   * key consists only of address, route and method, otherwise 600 per minute. `count` counts them like other requests,
   * `skip` lets them pass. Default `separate`.
   */
  preflights?: 'separate' | 'count' | 'skip' | undefined;
  /**
   * `report` is a dry run: it decides, counts and calls `onDecision`, but denies nothing and sends no fields. Default
   * `enforce`.
   */
  mode?: 'enforce' | 'report' | undefined;
  /**
   * The format of the header fields, or a list of formats: see docs/reference/headers.md. `false` sends none. Default
   * `draft-11`.
   */
  headers?: HeadersOption | undefined;
  /** Adds the fields to `Access-Control-Expose-Headers` if the response allows an origin. Default `false`. */
  cors?: boolean | undefined;
  /**
   * Sends the response to a denied request. The status and header fields are already set. End the response or, in
   * Fastify and NestJS, return it; otherwise the client waits forever. In Koa, both arguments are the context. Also
   * called for 503, but not for 403.
   */
  onDenied?: ((request: Request, response: Early, decision: Decision) => unknown) | undefined;
  /**
   * Passes a denial to the framework's error handler, as a `RateLimitError` with `status`, `statusCode`, `code`,
   * `headers` and `decision`, instead of sending a response. Takes precedence over `onDenied`. Default `false`.
   */
  throw?: boolean | undefined;
  /**
   * The status codes of denials, from 400 to 599. Default `{ denied: 429, blocked: 429, deny: 403, missingKey: 403 }`.
   */
  status?: Partial<DenialStatuses> | undefined;
  /**
   * Called with every decision, for logs and metrics. It is awaited, and an error in it fails the request. Never use
   * the key as a metric label.
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
   * Refunds the request when the response has ended. Units are taken before the handler runs, so concurrent requests
   * cannot exceed the limit. A response that is cut off is not refunded, unless `onAbort` is true. See
   * docs/guides/refunds.md.
   */
  refund?: RefundWhen<Request, Response> | RefundOptions<Request, Response> | undefined;
  /**
   * The `Retry-After` of a request that lacks only a `concurrency` slot. By default it has none, because the time of
   * the next release is unknown.
   */
  retryAfter?: Duration | undefined;
  /**
   * How long a request may hold its `concurrency` slots, in whole milliseconds. Then they are released even if the
   * response continues, with the warning `SLUICE_SLOT_TIMEOUT`. See docs/guides/concurrency.md. Default `600 000`.
   */
  maxSlotMs?: number | undefined;
  /**
   * How many requests this process may hold at once until a `leakyBucket` lets them start; 0 holds none. Others are
   * denied with their delay as `Retry-After`, and take nothing. See docs/guides/pacing.md. Default `1000`.
   */
  maxPaced?: number | undefined;
}

/** Options of another way to define the limit. */
type Without<Name extends string> = { [Each in Name]?: never };

/** Three ways to define the limit of a single key. */
type OneKey<Request, Response> = PerLimitOptions<Request, Response> & { limits?: never } & (
    | (LimiterCoreOptions &
        Without<'policy' | 'limiter'> & {
          /** Units in any interval of this length: short for `slidingWindow({ limit, window })`. */
          limit: number;
          /** After a window without requests, a client has its whole limit back; no wait is longer. */
          window: Duration;
        })
    | (LimiterCoreOptions & Without<'limit' | 'window' | 'limiter'> & { policy: PolicyOption<Request, Response> })
    | (Without<'limit' | 'window' | 'policy' | keyof LimiterCoreOptions> & {
        /** An existing limiter. All its users share its counts. */
        limiter: Limiter;
      })
  );

type KeyEach<Request, Response> = LimiterCoreOptions &
  Without<'limit' | 'window' | 'policy' | 'limiter' | 'onMissingKey'> & {
    /**
     * No value has this type. It types a function that is written beside spread options, in which TypeScript sees no
     * limit.
     */
    key?: Key<Request, Response> & { readonly never: never };
    limits: readonly HttpLimitOptions<Request, Response>[];
    /** The cost for entries without their own. */
    cost?: number | OfRequest<Request, Response, number>;
  };

/**
 * The options of every adapter, which differ only in the types of request and response. There are four ways to define
 * the limit: `limit` and `window` (a sliding window), `policy`, `limits` with a key each, or an existing `limiter`.
 */
export type RateLimitOptions<Request, Response, Early = Response> = SharedOptions<Request, Response, Early> &
  (OneKey<Request, Early> | KeyEach<Request, Early>);

const readClients: Reader<ClientList> = (given, name) => new ClientList(given, name);
const aFunction: Reader<undefined> = optional(functionThat<never>('a function'));
const readStatus = (name: keyof DenialStatuses): Reader<number> =>
  withDefault(wholeNumber(400, 599), DENIAL_STATUSES[name]);
const STATUSES = {
  denied: readStatus('denied'),
  blocked: readStatus('blocked'),
  deny: readStatus('deny'),
  missingKey: readStatus('missingKey'),
};
const REFUND = {
  when: valueThat<RefundWhen<object, unknown>>(
    (given) => typeof given === 'function' || given === 'on-success' || given === 'on-failure',
    '"on-success", "on-failure" or a function of request and response',
  ),
  onAbort: withDefault(flag, false),
};
export type Refund = Required<RefundOptions<object, unknown>>;
const readRefund: Reader<Refund> = (given, name, code) =>
  typeof given === 'object' && given !== null
    ? optionsOf(REFUND)(given, name, code)
    : { when: REFUND.when(given, name, code), onAbort: false };
type Shared = SharedOptions<object, unknown>;

/** The checks and defaults of {@link SharedOptions}. In this order: the first bad option is reported. */
const SHARED = {
  skip: aFunction as Reader<Shared['skip']>,
  allow: optional(readClients) as Reader<ClientList | undefined>,
  deny: optional(readClients) as Reader<ClientList | undefined>,
  preflights: withDefault(oneOf(['separate', 'count', 'skip']), 'separate') as Reader<'separate' | 'count' | 'skip'>,
  mode: withDefault(oneOf(['enforce', 'report']), 'enforce') as Reader<'enforce' | 'report'>,
  headers: ((given) => fieldWriter(given as HeadersOption | undefined)) as Reader<FieldWriter>,
  cors: withDefault(flag, false) as Reader<boolean>,
  onDenied: aFunction as Reader<Shared['onDenied']>,
  throw: withDefault(flag, false) as Reader<boolean>,
  status: withDefault(optionsOf(STATUSES), DENIAL_STATUSES) as Reader<DenialStatuses>,
  onDecision: aFunction as Reader<Shared['onDecision']>,
  refund: optional(readRefund) as Reader<Refund | undefined>,
  retryAfter: optional(duration()) as Reader<number | undefined>,
  maxSlotMs: withDefault(timerMs, 600_000) as Reader<number>,
  maxPaced: withDefault(wholeNumber(0, Number.MAX_SAFE_INTEGER), 1000) as Reader<number>,
};

const PER_LIMIT = {
  key: parseKey as Reader<readonly KeyPart<object>[]>,
  cost: optional(
    valueThat(
      (given) => typeof given === 'function' || (Number.isSafeInteger(given) && Number(given) >= 1),
      'a whole number, at least 1, or a function of the request',
    ),
  ) as Reader<number | OfRequest<object, unknown, number> | undefined>,
  /** Undefined if the user has not said what a missing key means: that depends on the key. */
  onMissingKey: optional(oneOf(['deny', 'skip', 'shared'])) as Reader<OnMissingKey | undefined>,
};

/** Options that are read elsewhere. */
const asGiven: Reader<unknown> = (given) => given;
type LimitOption = 'limit' | 'window' | 'policy' | 'limits' | 'limiter';
const LIMIT = Object.fromEntries(
  ['limit', 'window', 'policy', 'limits', 'limiter'].map((name) => [name, asGiven]),
) as Record<LimitOption, Reader<unknown>>;
const HTTP = { ...LIMIT, ...SHARED, ...PER_LIMIT, ...LIMITER };
const ENTRY = { name: parseName, policy: asGiven, ...PER_LIMIT };
export const LIMIT_NAMES: readonly string[] = Object.keys(LIMIT);
export const LIMITER_NAMES: readonly string[] = Object.keys(LIMITER);
export const SHARED_NAMES: readonly string[] = Object.keys(SHARED);
/** All options of {@link RateLimitOptions}. */
export const OPTION_NAMES: readonly string[] = Object.keys(HTTP);

/** The checked options of a place, with their defaults; the options of the limit and the limiter are unchecked. */
export type HttpSettings = Settings<typeof SHARED & typeof PER_LIMIT & typeof LIMIT>;
/** The options of one limit, checked. */
export type LimitSettings = Settings<typeof PER_LIMIT>;

/**
 * @param ownOptions - Names of further options, which the adapter itself reads.
 * @throws PolicyError for unknown options, for the first bad one, and for one that contradicts `limiter` or `limits`.
 */
export function readHttpOptions(options: object, ownOptions: readonly string[]): HttpSettings {
  const own = Object.fromEntries(ownOptions.map((name) => [name, asGiven]));
  const settings = readOptions(options, { ...HTTP, ...own }, 'rateLimit');
  const given = options as Readonly<Record<string, unknown>>;
  const [where, names, instead] =
    given['limiter'] !== undefined
      ? (['limiter', ['limits', ...LIMITER_NAMES], 'set it in the createLimiter() call instead'] as const)
      : (['limits', ['key', 'onMissingKey'], 'write it into the entries of limits instead'] as const);
  const name = ['policy', 'limit', 'window', ...names].find((one) => given[one] !== undefined);
  if (given[where] !== undefined && name !== undefined) {
    const what = `${name} cannot be combined with ${where}, got ${shown(given[name])}`;
    throw new PolicyError(name, `${what}; ${instead}`, 'SLUICE_OPTION_INVALID');
  }
  return settings;
}

/** Checks the options of one of several limits. */
export function readEntry(entry: unknown, where: string): LimitSettings & { name: string; policy: unknown } {
  return readOptions(entry, ENTRY, where, 'SLUICE_OPTION_INVALID', `${where}.`);
}
