import { PolicyError } from '@sluice/core';
import { checkPlace, type RateLimitOptions as NeutralOptions, type ScopeOptions } from '@sluice/core/http';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { framework } from './framework.ts';

/** When a limit decides. `onRequest` is the earliest; the others are for keys that need the body or the user. */
export type LimitHook = 'onRequest' | 'preParsing' | 'preValidation' | 'preHandler';

export const LIMIT_HOOKS: readonly LimitHook[] = ['onRequest', 'preParsing', 'preValidation', 'preHandler'];

interface PlaceOptions {
  /** Default: that of the scope around it, at last `onRequest`. */
  hook?: LimitHook;
  /** Whether this limit stands in the place of those around it, instead of beside them. Default false. */
  override?: boolean;
}

/** The options of a limit: docs/reference/options.md has the table. */
export type RateLimitOptions = NeutralOptions<FastifyRequest, FastifyReply>;

/**
 * The options of the plugin, which hold for its scope and all that lie in it. Without a limit of its own they are only
 * what the limits inside take over: `{ store }`.
 */
export type SluiceOptions = ScopeOptions<FastifyRequest, FastifyReply> & PlaceOptions;

/** What stands in a route's `config.rateLimit`. */
export type RouteLimitOptions = RateLimitOptions &
  PlaceOptions & {
    /** Routes of one group share one budget. They say the same limit; the group is its name. */
    group?: string;
  };

/** The names of the options that Fastify alone knows. */
export const SCOPE_OPTIONS: readonly string[] = ['hook', 'override'];
export const ROUTE_OPTIONS: readonly string[] = [...SCOPE_OPTIONS, 'group'];
/** A hook says by itself when it decides, and stands apart from the limits around it. */
export const HOOK_OPTIONS: readonly string[] = ['group'];

/**
 * Checks the options of a place before it is known what they take over, so that mistakes are told where they are made.
 *
 * @param mayBeEmpty - Whether it may say no limit.
 * @throws PolicyError for bad options.
 */
export function checkLimit(options: object, ownOptions: readonly string[], mayBeEmpty = false): void {
  const { hook, group, name = group } = ((options as unknown) ?? {}) as Readonly<Record<string, unknown>>;
  if (hook !== undefined && !(LIMIT_HOOKS as readonly unknown[]).includes(hook)) {
    throw invalid('hook', `one of ${LIMIT_HOOKS.join(', ')}`, hook);
  }
  if (group !== undefined && typeof group !== 'string') throw invalid('group', 'a name', group);
  const named: unknown = typeof options === 'object' && group !== undefined ? { ...options, name } : options;
  checkPlace(named, framework, ownOptions, mayBeEmpty);
}

function invalid(field: string, expected: string, got: unknown): PolicyError {
  return new PolicyError(field, `${field} must be ${expected}, got ${JSON.stringify(got)}`, 'SLUICE_OPTION_INVALID');
}
