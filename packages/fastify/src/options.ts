import type { RateLimitOptions as NeutralOptions, ScopeOptions } from '@sluice/core/http';
import type { FastifyReply, FastifyRequest } from 'fastify';

export const LIMIT_HOOKS = ['onRequest', 'preParsing', 'preValidation', 'preHandler'] as const;

/**
 * The hook in which a limit decides. `onRequest` is the earliest; the others suit keys that need the body or the
 * user.
 */
export type LimitHook = (typeof LIMIT_HOOKS)[number];

interface PlaceOptions {
  /** Default: the hook of the surrounding scope, or `onRequest`. */
  hook?: LimitHook;
}

/** The options of a limit: docs/reference/options.md has the table. */
export type RateLimitOptions = NeutralOptions<FastifyRequest, FastifyReply>;

/**
 * The options of the plugin, which apply to its scope and all scopes inside. Without a limit, they only set what the
 * limits inside inherit: `{ store }`.
 */
export type SluiceOptions = ScopeOptions<FastifyRequest, FastifyReply> & PlaceOptions;

/** The options in a route's `config.rateLimit`. */
export type RouteLimitOptions = RateLimitOptions & PlaceOptions;
