import type { Store as SluiceStore } from '@sluice/old-core';
import type { NextFunction, Request, RequestHandler, Response } from 'express';

export type LoggerFn = (error: unknown, message?: string) => void;

/** Where errors and warnings are written. */
export interface Logger {
  error: LoggerFn;
  warn: LoggerFn;
}

/** A value that depends on the request. */
export type ValueDeterminingMiddleware<T> = (request: Request, response: Response) => T | Promise<T>;

/** Answers a denied request. */
export type RateLimitExceededEventHandler = (
  request: Request,
  response: Response,
  next: NextFunction,
  optionsUsed: Options,
) => void;

/** The type of a callback that version 7 has removed; kept for those who import it. */
export type RateLimitReachedEventHandler = (request: Request, response: Response, optionsUsed: Options) => void;

/** The middleware, with what can be done about a key. */
export type RateLimitRequestHandler = RequestHandler & {
  /** Forgets what a key has used. */
  resetKey: (key: string) => void;
  /** What a key has used. Throws where the store cannot tell. */
  getKey: (key: string) => Promise<ClientRateLimitInfo | undefined> | ClientRateLimitInfo | undefined;
};

export type DraftHeadersVersion = 'draft-6' | 'draft-7' | 'draft-8';

/** The checks of the configuration, by the names that `validate` turns them off with. */
export type ValidationName =
  | 'ip'
  | 'trustProxy'
  | 'xForwardedForHeader'
  | 'forwardedHeader'
  | 'positiveHits'
  | 'unsharedStore'
  | 'singleCount'
  | 'limit'
  | 'draftPolliHeaders'
  | 'onLimitReached'
  | 'headersDraftVersion'
  | 'headersResetTime'
  | 'knownOptions'
  | 'validationsConfig'
  | 'creationStack'
  | 'ipv6Subnet'
  | 'ipv6SubnetOrKeyGenerator'
  | 'keyGeneratorIpFallback'
  | 'windowMs';

/** Which checks run, by name; `default` is for those that are not named. */
export type EnabledValidations = { [Name in ValidationName | 'default']?: boolean };

/** The options of express-rate-limit 8, and `mode`. */
export interface Options {
  /** The length of a window, in milliseconds. Default 60 000. */
  windowMs: number;
  /** Hits that a window allows. Default 5. */
  limit: number | ValueDeterminingMiddleware<number>;
  /** The body of a denial. Default `'Too many requests, please try again later.'`. */
  // eslint-disable-next-line @typescript-eslint/no-explicit-any -- the type of express-rate-limit
  message: any;
  /** The status of a denial. Default 429. */
  statusCode: number;
  /** Whether `X-RateLimit-*` fields are sent. Default true. */
  legacyHeaders: boolean;
  /** Whether `RateLimit` fields are sent, and of which draft; `true` is `'draft-6'`. Default false. */
  standardHeaders: boolean | DraftHeadersVersion;
  /** The name of the policy in the fields of `'draft-8'`. Default `{limit}-in-{window}`. */
  identifier: string | ValueDeterminingMiddleware<string>;
  /** Seconds in `Retry-After`. Default: until the window ends. */
  retryAfter?: number | ValueDeterminingMiddleware<number>;
  /** Where the request holds the numbers. Default `'rateLimit'`. */
  requestPropertyName: string;
  /** Whether the hit of a request that failed is taken back. Default false. */
  skipFailedRequests: boolean;
  /** Whether the hit of a request that succeeded is taken back. Default false. */
  skipSuccessfulRequests: boolean;
  /** Which key a request counts for. Default: {@link ipKeyGenerator} of `request.ip`. */
  keyGenerator: ValueDeterminingMiddleware<string>;
  /** Bits of an IPv6 address that count, 32 to 64; `false` for all of them. Default 56. */
  ipv6Subnet: number | ValueDeterminingMiddleware<number> | false;
  /** Answers a denied request. Default: `statusCode` with `message`. */
  handler: RateLimitExceededEventHandler;
  /** Whether a request does not count. Default: none. */
  skip: ValueDeterminingMiddleware<boolean>;
  /** Whether a response is a success. Default: a status below 400. */
  requestWasSuccessful: ValueDeterminingMiddleware<boolean>;
  /** Where hits are counted. Default: a {@link MemoryStore}. */
  store: Store | LegacyStore;
  /** Which checks of the configuration run. Default: all of them, each once. */
  validate: boolean | EnabledValidations;
  /** Whether requests are allowed while the store fails. Default false. */
  passOnStoreError: boolean;
  /** Where errors and warnings are written. Default: the console. */
  logger: Logger;
  /**
   * Sluice's own option: `'report'` counts, sends header fields and sets the property of the request, and denies
   * nothing. Default `'enforce'`.
   */
  mode?: 'enforce' | 'report';
  /** @deprecated The former name of `legacyHeaders`. */
  headers?: boolean;
  /** @deprecated The former name of `limit`. */
  max?: number | ValueDeterminingMiddleware<number>;
}

/** What the drop-in takes: the options of express-rate-limit, and a store of Sluice in the place of one of its own. */
export type RateLimitOptions = Partial<Omit<Options, 'store'>> & {
  /** Where hits are counted: `redisStore(...)`, or a store of express-rate-limit. Default: a {@link MemoryStore}. */
  store?: Options['store'] | SluiceStore | undefined;
};

/** A request that a limiter has seen. */
export type AugmentedRequest = Request & { [key: string]: RateLimitInfo };

/** The numbers of a request. */
export interface RateLimitInfo {
  limit: number;
  /** Hits of the window, this one included. */
  used: number;
  remaining: number;
  resetTime: Date | undefined;
  key: string;
}

/** What a store knows of a key. */
export interface ClientRateLimitInfo {
  /** Hits of the present window. */
  totalHits: number;
  /** When the window ends; undefined where the store cannot tell. */
  resetTime: Date | undefined;
}

export type IncrementResponse = ClientRateLimitInfo;

/** Receives what a {@link LegacyStore} has counted. */
export type IncrementCallback = (error: Error | undefined, totalHits: number, resetTime: Date | undefined) => void;

/** A store of hits, as express-rate-limit defines it: any of its stores can be given. */
export interface Store {
  /** Called once, when the middleware is made. Not awaited; its errors are logged. */
  init?: (options: Options) => void | Promise<void>;
  /** The hits of a key, without counting. */
  get?: (key: string) => Promise<ClientRateLimitInfo | undefined> | ClientRateLimitInfo | undefined;
  /** Counts a hit. */
  increment: (key: string) => Promise<IncrementResponse> | IncrementResponse;
  /** Takes a hit back. */
  decrement: (key: string) => Promise<void> | void;
  /** Forgets a key. */
  resetKey: (key: string) => Promise<void> | void;
  /** Forgets all keys. */
  resetAll?: () => Promise<void> | void;
  /** Stops timers, and releases what the store holds. */
  shutdown?: () => Promise<void> | void;
  /** Whether the keys of one instance are never those of another, as in a memory. */
  localKeys?: boolean;
  /** The text before each key, where the store has one. */
  prefix?: string;
}

/** A store with callbacks, from before version 6. */
export interface LegacyStore {
  incr: (key: string, callback: IncrementCallback) => void;
  decrement: (key: string) => void;
  resetKey: (key: string) => void;
  resetAll?: () => void;
}
