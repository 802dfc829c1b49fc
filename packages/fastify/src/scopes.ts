import { PolicyError } from '@sluice/core';
import { checkPlace } from '@sluice/core/http';
import type { FastifyInstance } from 'fastify';
import { framework } from './framework.ts';
import { LIMIT_HOOKS, SCOPE_OPTIONS, type SluiceOptions } from './options.ts';

/** What one registration of the plugin, or the config of one, says for its scope; false switches all around it off. */
export interface Scope {
  readonly options: SluiceOptions | false;
  /** What it is named by where it has no name of its own; empty for the first of the outermost scope. */
  readonly place: string;
}

const scopes = new WeakMap<FastifyInstance, Scope[]>();
/** How many scopes of each prefix an application has: those without names are named by their order. */
const counts = new WeakMap<FastifyInstance, Map<string, number>>();

/** The application, and the scopes it lies in, the outermost first. */
export function chainOf(app: FastifyInstance): readonly FastifyInstance[] {
  const chain: FastifyInstance[] = [];
  for (let at: unknown = app; at !== null && at !== Object.prototype; at = Object.getPrototypeOf(at)) {
    chain.unshift(at as FastifyInstance);
  }
  return chain;
}

/** The scopes that a route or hook of this application lies in, the outermost first. */
export function scopesOf(app: FastifyInstance): readonly Scope[] {
  return chainOf(app).flatMap((at) => scopes.get(at) ?? []);
}

/**
 * Adds to what holds in a scope.
 *
 * @throws PolicyError for bad options.
 */
export function addScope(app: FastifyInstance, options: SluiceOptions | false): void {
  if (options !== false) checkLimit(options, SCOPE_OPTIONS, true);
  const own = scopes.get(app) ?? [];
  const root = chainOf(app)[0] as FastifyInstance;
  const byPrefix = counts.get(root) ?? new Map<string, number>();
  const count = byPrefix.get(app.prefix) ?? 0;
  byPrefix.set(app.prefix, count + 1);
  counts.set(root, byPrefix);
  own.push({ options, place: app === root && own.length === 0 ? '' : `scope ${app.prefix} ${String(count)}` });
  scopes.set(app, own);
}

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
