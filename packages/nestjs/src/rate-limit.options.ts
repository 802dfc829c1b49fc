import { Layer, hasLimit, type RateLimitOptions as NeutralOptions, type ScopeOptions } from '@sluice/core/http';
import { PolicyError } from '@sluice/core';
import { httpFramework, type NestRequest, type NestResponse } from './framework.ts';

/** The options of a limit: see the README for the table. */
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

/**
 * Checks options before it is known what they take over and how they are named, so that mistakes are told where they are
 * made.
 *
 * @throws PolicyError for bad or unknown options.
 */
export function checkLimit(options: object): void {
  const { override } = options as { readonly override?: unknown };
  if (override !== undefined && typeof override !== 'boolean') {
    throw new PolicyError(
      'override',
      `override must be true or false, got ${JSON.stringify(override)}`,
      'SLUICE_OPTION_INVALID',
    );
  }
  // Nothing is claimed: the name on the real store is still free.
  new Layer(options as RateLimitOptions, httpFramework, DECORATOR_OPTIONS);
}

/**
 * Checks the options of the module, which may have no limit.
 *
 * @throws PolicyError for bad or unknown options.
 */
export function checkScope(options: object): void {
  new Layer((hasLimit(options) ? options : { ...options, limit: 1, window: 1 }) as RateLimitOptions, httpFramework);
}
