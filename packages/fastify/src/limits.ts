import { PolicyError, memoryStore } from '@sluice/core';
import { atPlace, hasLimit, inheritOptions, limitRequests, type RequestLimiter } from '@sluice/core/http';
import { shown } from '@sluice/core/spi';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { framework } from './framework.ts';
import { nameForRoute, nameForScope, getRoutePlace } from './names.ts';
import { LIMIT_HOOKS, type LimitHook, type RouteLimitOptions, type SluiceOptions } from './options.ts';

/** A limit of a scope, of a route, or of a separate hook. */
interface PlacedLimit {
  readonly requests: RequestLimiter;
  readonly hook: LimitHook;
}

/**
 * What applies in a scope: the options that inner limits inherit, and the limit that decides unless an inner one
 * replaces it.
 */
interface Scope {
  readonly options: SluiceOptions;
  readonly limit: PlacedLimit | undefined;
  /** As it was given: a plugin such as `@fastify/http-proxy` passes the config of its scope on to its routes. */
  readonly given?: SluiceOptions;
}

/** One registration of the plugin, or the config of a scope; false turns off the limits around it. */
interface Registered {
  readonly app: FastifyInstance;
  readonly options: SluiceOptions | false;
  /** Where they were given, for errors. */
  readonly from: string;
  /** The default name of its limit. */
  readonly name: string;
  scope: Scope | undefined;
}

const REGISTERED: unique symbol = Symbol('registered');
const LIMITS: unique symbol = Symbol('limits');

/** A Fastify scope has the surrounding scope as its prototype, so inner scopes find what the plugin stores. */
interface ScopeOfFastify extends FastifyInstance {
  [REGISTERED]?: Registered;
  [LIMITS]?: Limits;
}

/** The limits of the nearest scope with hooks of the plugin. */
export function findLimits(app: FastifyInstance): Limits | undefined {
  return (app as ScopeOfFastify)[LIMITS];
}

const OWN_OPTIONS: readonly string[] = ['hook'];

/**
 * The limits of an application, in all its scopes: created when it is ready or, for routes declared before the plugin,
 * at their first request. Only the nearest limit decides about a request.
 */
export class Limits {
  /** By the config that Fastify keeps for a route, or for the 404s of a scope; null for none. */
  readonly #ofRoute = new WeakMap<object, PlacedLimit | null>();
  /** By the options and the place, so that HEAD and GET share one. */
  readonly #routes = new WeakMap<object, Map<string, PlacedLimit>>();
  readonly #names = new Map<string, number>();
  readonly #scopesAt = new Map<string, number>();
  readonly #made: PlacedLimit[] = [];
  readonly #later: (() => unknown)[] = [];
  readonly #hooks = new Set<LimitHook>();
  readonly #outside: Scope = { options: { store: memoryStore() }, limit: undefined };

  /** @param app - The outermost scope in which the plugin has been registered so far. */
  constructor(app: FastifyInstance) {
    (app as ScopeOfFastify)[LIMITS] = this;
  }

  /** The limiter that decides about a request at a hook. */
  limiterFor(request: FastifyRequest, hook: LimitHook): PlacedLimit['requests'] | undefined {
    // Limits declared before the plugin become known at the first hook.
    if (hook !== 'onRequest' && !this.#hooks.has(hook)) return undefined;
    const { config } = request.routeOptions;
    let limit = this.#ofRoute.get(config);
    if (limit === undefined) {
      limit = this.#limitFor(request) ?? null;
      this.#ofRoute.set(config, limit);
    }
    return limit?.hook === hook ? limit.requests : undefined;
  }

  #limitFor({ server, routeOptions: { config, url, method } }: FastifyRequest): PlacedLimit | undefined {
    if (findLimits(server) !== this) return undefined; // those of a scope inside, where the plugin was registered before
    return url === undefined
      ? this.limitAt(server)
      : this.limitAt(server, config.rateLimit, getRoutePlace(method, url));
  }

  /**
   * Creates a limit when the application becomes ready, in the order of declaration, so that mistakes show before the
   * first request.
   */
  prepareLater(make: () => unknown): void {
    this.#later.push(make);
  }

  /** @throws PolicyError for bad options. */
  prepare(): void {
    for (const make of this.#later.splice(0)) make();
  }

  /** Releases the names, and closes the limiters with their stores. */
  async close(): Promise<void> {
    await Promise.all(this.#made.map(({ requests }) => requests.close()));
  }

  /** @throws PolicyError if the plugin is registered in this scope already. */
  addScope(app: FastifyInstance, options: SluiceOptions | false, from: string): void {
    if (Object.hasOwn(app, REGISTERED)) {
      const what = 'the plugin is registered twice in one scope, or beside its config, and only one limit can decide';
      throw new PolicyError('limits', `${what}; write both limits as entries of limits`, 'SLUICE_OPTION_INVALID');
    }
    const count = this.#scopesAt.get(app.prefix) ?? 0;
    const isOutermost = around(app) === Object.prototype;
    const name = isOutermost ? 'default' : nameForScope(`scope ${app.prefix} ${String(count)}`);
    this.#scopesAt.set(app.prefix, count + 1);
    (app as ScopeOfFastify)[REGISTERED] = { app, options, from, name, scope: undefined };
    this.prepareLater(() => this.limitAt(app));
  }

  /** The limit that decides about a route or, without one, in a scope. */
  limitAt(app: FastifyInstance, route?: RouteLimitOptions | false, place = ''): PlacedLimit | undefined {
    if (route === false) return undefined;
    const scope = this.#scopeOf(app);
    const limit = route === undefined || route === scope.given ? scope.limit : this.#routeLimit(scope, route, place);
    if (limit !== undefined) this.#hooks.add(limit.hook);
    return limit;
  }

  /** The limit of a hook that `app.rateLimit()` created, which decides in addition to the route's. */
  hookLimit(app: FastifyInstance, options: RouteLimitOptions, route: string): PlacedLimit {
    const scope = this.#scopeOf(app);
    return atPlace('app.rateLimit()', () =>
      this.#make(inheritOptions(scope.options, options), [], () => this.#unusedName(nameForRoute(route))),
    );
  }

  #routeLimit(scope: Scope, options: RouteLimitOptions, place: string): PlacedLimit {
    const known = this.#routes.get(options)?.get(place);
    if (known !== undefined) return known;
    const limit = atPlace(`config.rateLimit of ${place}`, () => {
      const inherited = inheritOptions(scope.options, options, OWN_OPTIONS);
      return this.#make(inherited, OWN_OPTIONS, () => this.#unusedName(nameForRoute(place)));
    });
    const places = this.#routes.get(options) ?? new Map<string, PlacedLimit>();
    this.#routes.set(options, places.set(place, limit));
    return limit;
  }

  /** The combined options of all registrations around a place; the innermost takes precedence. */
  #scopeOf(app: FastifyInstance): Scope {
    const registered = (app as ScopeOfFastify)[REGISTERED];
    if (registered === undefined) return this.#outside;
    return (registered.scope ??= this.#within(this.#scopeOf(around(registered.app)), registered));
  }

  #within(outer: Scope, { app, options, from, name }: Registered): Scope {
    if (options === false) return { options: outer.options, limit: undefined };
    return atPlace(`${from}${app.prefix === '' ? '' : ` under ${app.prefix}`}`, () => {
      const inherited = inheritOptions(outer.options, options, OWN_OPTIONS);
      const limit = hasLimit(options) ? this.#make(inherited, OWN_OPTIONS, () => name) : outer.limit;
      return { options: inherited, limit, given: options };
    });
  }

  /**
   * A second limit of a place, such as a hook in addition to a config or a route for another host, gets a number. No
   * route's name ends with `_` and a number: `/a-2` is `GET.a-2`.
   */
  #unusedName(name: string): string {
    const count = (this.#names.get(name) ?? 0) + 1;
    this.#names.set(name, count);
    return count === 1 ? name : `${name}_${String(count)}`;
  }

  #make(options: SluiceOptions, ownOptions: readonly string[], defaultName: () => string): PlacedLimit {
    const { hook = 'onRequest', name, limiter } = options;
    if (!LIMIT_HOOKS.includes(hook)) {
      const expected = `hook must be one of ${LIMIT_HOOKS.join(', ')}, got ${shown(hook)}`;
      throw new PolicyError('hook', expected, 'SLUICE_OPTION_INVALID');
    }
    const named = name !== undefined || limiter !== undefined ? options : { ...options, name: defaultName() };
    const limit = { requests: limitRequests(named, framework, ownOptions), hook };
    this.#made.push(limit);
    return limit;
  }
}

/** The scope around a scope. */
function around(app: FastifyInstance): FastifyInstance {
  return Object.getPrototypeOf(app) as FastifyInstance;
}
