import type { Store as SluiceStore } from '@sluice/core';
import type { NextFunction, Request, RequestHandler, Response } from 'express';
import type { Logger } from './console-logger.ts';
import type { EnabledValidations } from './validations.ts';

/** A value that depends on the request. */
export type ValueDeterminingMiddleware<T> = (request: Request, response: Response) => T | Promise<T>;

/** Answers a denied request. */
export type RateLimitExceededEventHandler = (
  request: Request,
  response: Response,
  next: NextFunction,
  optionsUsed: Options,
) => void;

/** The type of a callback that version 7 removed; kept for code that imports it. */
export type RateLimitReachedEventHandler = (request: Request, response: Response, optionsUsed: Options) => void;

/** The middleware, with functions for a key. */
export type RateLimitRequestHandler = RequestHandler & {
  /** Forgets what a key has used. */
  resetKey: (key: string) => void;
  /** What a key has used. Throws if the store does not know. */
  getKey: (key: string) => Promise<ClientRateLimitInfo | undefined> | ClientRateLimitInfo | undefined;
};

export type DraftHeadersVersion = 'draft-6' | 'draft-7' | 'draft-8';

/**
 * The options of express-rate-limit 8, which its documentation explains, and `mode`:
 * https://express-rate-limit.mintlify.app/reference/configuration
 */
export interface Options {
  windowMs: number;
  limit: number | ValueDeterminingMiddleware<number>;
  // eslint-disable-next-line @typescript-eslint/no-explicit-any -- the type of express-rate-limit
  message: any;
  statusCode: number;
  legacyHeaders: boolean;
  standardHeaders: boolean | DraftHeadersVersion;
  identifier: string | ValueDeterminingMiddleware<string>;
  retryAfter?: number | ValueDeterminingMiddleware<number>;
  requestPropertyName: string;
  skipFailedRequests: boolean;
  skipSuccessfulRequests: boolean;
  keyGenerator: ValueDeterminingMiddleware<string>;
  ipv6Subnet: number | ValueDeterminingMiddleware<number> | false;
  handler: RateLimitExceededEventHandler;
  skip: ValueDeterminingMiddleware<boolean>;
  requestWasSuccessful: ValueDeterminingMiddleware<boolean>;
  store: Store | LegacyStore;
  validate: boolean | EnabledValidations;
  passOnStoreError: boolean;
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

/** The options of the drop-in: those of express-rate-limit, with a Sluice store in place of one of its own. */
export type RateLimitOptions = Partial<Omit<Options, 'store'>> & {
  /** Where hits are counted: `redisStore(...)`, or a store of express-rate-limit. Default: a `MemoryStore`. */
  store?: Options['store'] | SluiceStore | undefined;
};

/** A request that a limiter has seen. */
export type AugmentedRequest = Request & { [key: string]: RateLimitInfo };

/** The numbers of a request. */
export interface RateLimitInfo {
  limit: number;
  /** Hits in the window, including this one. */
  used: number;
  remaining: number;
  resetTime: Date | undefined;
  key: string;
}

/** What a store knows of a key. */
export interface ClientRateLimitInfo {
  /** Hits in the current window. */
  totalHits: number;
  /** When the window ends; undefined if the store does not know. */
  resetTime: Date | undefined;
}

export type IncrementResponse = ClientRateLimitInfo;

/** Receives what a {@link LegacyStore} has counted. */
export type IncrementCallback = (error: Error | undefined, totalHits: number, resetTime: Date | undefined) => void;

/** A store of hits, as express-rate-limit defines it: any store for it works. */
export interface Store {
  /** Called once, when the middleware is created. Not awaited; its errors are logged. */
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
  /** Stops timers, and releases the store's resources. */
  shutdown?: () => Promise<void> | void;
  /** Whether instances never share keys, as in memory. */
  localKeys?: boolean;
  /** The text before each key. */
  prefix?: string;
}

/** A store with callbacks, from before version 6. */
export interface LegacyStore {
  incr: (key: string, callback: IncrementCallback) => void;
  decrement: (key: string) => void;
  resetKey: (key: string) => void;
  resetAll?: () => void;
}
