import { PolicyError } from '@sluice/old-core';
import { atPlace, checkPlace, type RateLimitOptions as NeutralOptions, type ScopeOptions } from '@sluice/old-http/spi';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { framework } from './framework.ts';

/**
 * The hook in which a limit decides. `onRequest` is the earliest; the others suit keys that need the body or the
 * user.
 */
export type LimitHook = 'onRequest' | 'preParsing' | 'preValidation' | 'preHandler';

export const LIMIT_HOOKS: readonly LimitHook[] = ['onRequest', 'preParsing', 'preValidation', 'preHandler'];

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

/** The names of the options that only this adapter has. */
export const OWN_OPTIONS: readonly string[] = ['hook'];

/**
 * Checks the options of a place before its inherited options are known, so that an error points to the line with the
 * mistake.
 *
 * @param place - Where the options stand, as errors name it.
 * @param mayBeEmpty - Whether the place may have no limit.
 * @throws PolicyError for bad options.
 */
export function checkLimit(options: object, place: string, ownOptions: readonly string[], mayBeEmpty = false): void {
  atPlace(place, () => {
    checkHere(options, ownOptions, mayBeEmpty);
  });
}

function checkHere(options: object, ownOptions: readonly string[], mayBeEmpty: boolean): void {
  const { hook } = ((options as unknown) ?? {}) as Readonly<Record<string, unknown>>;
  if (hook !== undefined && !(LIMIT_HOOKS as readonly unknown[]).includes(hook)) {
    throw new PolicyError(
      'hook',
      `hook must be one of ${LIMIT_HOOKS.join(', ')}, got ${JSON.stringify(hook)}`,
      'SLUICE_OPTION_INVALID',
    );
  }
  checkPlace(options, framework, ownOptions, mayBeEmpty);
}
