import type { RateLimitOptions as NeutralOptions, ScopeOptions } from '@sluice/core/http';
import type { NestRequest, NestResponse } from './nest-types.ts';

/** The options of a limit: docs/reference/options.md has the table. */
export type RateLimitOptions<Request = NestRequest, Response = NestResponse> = NeutralOptions<Request, Response>;

/**
 * The limit of the whole application. Without one, it only sets what the limits of decorators inherit: `{ store }`.
 */
export type RateLimitScopeOptions<Request = NestRequest, Response = NestResponse> = ScopeOptions<Request, Response>;

/**
 * Creates the options of the module: the interface for `useClass` and `useExisting` in `RateLimitModule.forRootAsync`.
 */
export interface RateLimitOptionsFactory<Request = NestRequest, Response = NestResponse> {
  createRateLimitOptions():
    RateLimitScopeOptions<Request, Response> | Promise<RateLimitScopeOptions<Request, Response>>;
}

/** The token of the module's options. */
export const RATE_LIMIT_OPTIONS: unique symbol = Symbol('RATE_LIMIT_OPTIONS');
