import { PolicyError } from '@sluice/old-core';
import { hasLimit } from '@sluice/old-http/spi';
import type { FastifyInstance } from 'fastify';
import { chainOf } from './application-chain.ts';
import { OWN_OPTIONS, checkLimit, type SluiceOptions } from './options.ts';

/**
 * The options that one registration of the plugin, or its config, sets for a scope; false turns off all around it.
 */
export interface Scope {
  readonly options: SluiceOptions | false;
  /** Makes its default name; empty for the first of the outermost scope. */
  readonly place: string;
}

const scopes = new WeakMap<FastifyInstance, Scope[]>();
/** How many scopes of each prefix an application has: scopes without names are numbered. */
const counts = new WeakMap<FastifyInstance, Map<string, number>>();

/** The scopes around a route or hook of this application, the outermost first. */
export function scopesOf(app: FastifyInstance): readonly Scope[] {
  return chainOf(app).flatMap((at) => scopes.get(at) ?? []);
}

/**
 * Whether the options of a route are the same object as those of a scope around it: a plugin such as
 * `@fastify/http-proxy` passes its own config to its routes. That is one limit, not two.
 */
export function isOfScope(app: FastifyInstance, options: object): boolean {
  return scopesOf(app).some((scope) => scope.options === options);
}

/**
 * Adds options to a scope.
 *
 * @throws PolicyError for bad options, and for a second limit of one scope: it would replace the first in silence.
 */
export function addScope(app: FastifyInstance, options: SluiceOptions | false): void {
  const place = `app.register(sluice)${app.prefix === '' ? '' : ` under ${app.prefix}`}`;
  if (options !== false) checkLimit(options, place, OWN_OPTIONS, true);
  const own = scopes.get(app) ?? [];
  if (setsLimit(options) && own.some((scope) => setsLimit(scope.options))) {
    throw new PolicyError(
      'limits',
      `${place} sets a second limit for one scope, where one limit decides; write both as entries of limits`,
      'SLUICE_OPTION_INVALID',
    );
  }
  const root = chainOf(app)[0] as FastifyInstance;
  const byPrefix = counts.get(root) ?? new Map<string, number>();
  const count = byPrefix.get(app.prefix) ?? 0;
  byPrefix.set(app.prefix, count + 1);
  counts.set(root, byPrefix);
  own.push({ options, place: app === root && own.length === 0 ? '' : `scope ${app.prefix} ${String(count)}` });
  scopes.set(app, own);
}

function setsLimit(options: SluiceOptions | false): boolean {
  return options !== false && hasLimit(options);
}
