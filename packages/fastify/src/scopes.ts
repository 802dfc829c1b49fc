import type { FastifyInstance } from 'fastify';
import { SCOPE_OPTIONS, checkLimit, type SluiceOptions } from './options.ts';

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
 * Whether what a route says is the very object that a scope around it says: a plugin such as `@fastify/http-proxy` gives
 * the config that it was registered with to its routes as well. That is one limit, not two.
 */
export function isOfScope(app: FastifyInstance, options: object): boolean {
  return scopesOf(app).some((scope) => scope.options === options);
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
