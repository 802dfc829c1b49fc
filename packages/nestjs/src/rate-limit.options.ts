import type { RateLimitOptions as NeutralOptions, ScopeOptions } from '@sluice/core/http';
import type { NestRequest } from './nest-request.ts';
import type { NestResponse } from './nest-response.ts';

/** The options of a limit: docs/reference/options.md has the table. */
export type RateLimitOptions<Request = NestRequest, Response = NestResponse> = NeutralOptions<Request, Response>;

/** What `@RateLimit()` takes. */
export type RateLimitDecoratorOptions<Request = NestRequest, Response = NestResponse> = RateLimitOptions<
  Request,
  Response
> & {
  /** Whether this limit stands in the place of those around it, instead of beside them. Default false. */
  override?: boolean;
};

/**
 * The limit of the whole application. Without one, it is only what the limits of the decorators take over: `{ store }`.
 */
export type RateLimitScopeOptions<Request = NestRequest, Response = NestResponse> = ScopeOptions<Request, Response>;

/** Makes the options of the module: what `useClass` and `useExisting` of `RateLimitModule.forRootAsync` name. */
export interface RateLimitOptionsFactory<Request = NestRequest, Response = NestResponse> {
  createRateLimitOptions():
    RateLimitScopeOptions<Request, Response> | Promise<RateLimitScopeOptions<Request, Response>>;
}

/** The token of the module's options. */
export const RATE_LIMIT_OPTIONS: unique symbol = Symbol('RATE_LIMIT_OPTIONS');

/** The names of the options that decorators alone know. */
export const DECORATOR_OPTIONS: readonly string[] = ['override'];
