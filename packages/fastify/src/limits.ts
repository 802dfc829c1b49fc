import { createHash } from 'node:crypto';
import {
  atPlace,
  createEnforcer,
  hasLimit,
  inheritOptions,
  outermost,
  type Enforcer,
  type Layer,
} from '@sluice/old-http/spi';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { framework } from './framework.ts';
import { OWN_OPTIONS, checkLimit, type LimitHook, type RouteLimitOptions, type SluiceOptions } from './options.ts';
import { isOfScope, scopesOf, type Scope } from './scopes.ts';

/** A limit of a scope or a route. */
interface PlacedLimit {
  readonly layer: Layer<FastifyRequest, FastifyReply>;
  readonly enforcer: Enforcer<FastifyRequest, FastifyReply>;
  readonly hook: LimitHook;
}

/** What a place inherits, and the limit that applies there unless it has one of its own. */
interface Surroundings {
  readonly options: SluiceOptions;
  readonly limit: PlacedLimit | undefined;
}

/**
 * The limits of one application, in all its scopes: made when it is ready or, for routes that were declared before
 * the plugin, at their first request. The nearest limit of a request decides alone.
 */
export class Limits {
  /** By Fastify's own object for the route, or for the 404s of a scope; null for none. */
  readonly #ofRoute = new WeakMap<object, PlacedLimit | null>();
  readonly #scopes = new Map<Scope, Surroundings>();
  /** By the options and the place, so that HEAD and GET share one. */
  readonly #routes = new WeakMap<object, Map<string, PlacedLimit>>();
  readonly #names = new Map<string, number>();
  readonly #claimed: PlacedLimit['layer'][] = [];
  readonly #later: (() => unknown)[] = [];
  readonly #hooks = new Set<LimitHook>();
  readonly #outside: Surroundings = { options: outermost({}), limit: undefined };

  /** Whether any limit decides at this hook. Limits declared before the plugin become known at the first hook. */
  uses(hook: LimitHook): boolean {
    return hook === 'onRequest' || this.#hooks.has(hook);
  }

  /** The enforcer for a request at a hook; undefined if there is none. */
  enforcerFor(request: FastifyRequest, hook: LimitHook): PlacedLimit['enforcer'] | undefined {
    const route = routeOf(request);
    let limit = route && this.#ofRoute.get(route);
    if (limit === undefined) {
      limit = this.#limitFor(request) ?? null;
      if (route !== undefined) this.#ofRoute.set(route, limit);
    }
    return limit?.hook === hook ? limit.enforcer : undefined;
  }

  #limitFor({ server, routeOptions: { config, url, method } }: FastifyRequest): PlacedLimit | undefined {
    return url === undefined ? this.limitAt(server) : this.limitAt(server, config.rateLimit, placeOf(method, url));
  }

  /**
   * Schedules a limit to be made when the application becomes ready, so that mistakes show before the first request.
   */
  prepareLater(make: () => unknown): void {
    this.#later.push(make);
  }

  /**
   * Makes the scheduled limits, in the order of their declaration.
   *
   * @throws PolicyError for bad options.
   */
  prepare(): void {
    for (const make of this.#later.splice(0)) make();
  }

  /** Releases the names, and closes the limiters with their stores. */
  async close(): Promise<void> {
    await Promise.all(this.#claimed.map(({ core }) => core.close()));
  }

  /** The limit of a route's own hook, which decides besides that of the route. */
  hookLimit(app: FastifyInstance, options: RouteLimitOptions, place: string): PlacedLimit {
    return this.#routeLimit(this.#surroundings(app).options, options, place);
  }

  /** The limit that decides about a route or, without one, in a scope. */
  limitAt(app: FastifyInstance, route?: RouteLimitOptions | false, place = ''): PlacedLimit | undefined {
    if (route === false) return undefined;
    const around = this.#surroundings(app);
    const isOwn = route !== undefined && !isOfScope(app, route);
    const limit = isOwn ? this.#routeLimit(around.options, route, place) : around.limit;
    if (limit !== undefined) this.#hooks.add(limit.hook);
    return limit;
  }

  /** What the scopes around a place say, the innermost last. Each is made once. */
  #surroundings(app: FastifyInstance): Surroundings {
    let around = this.#outside;
    for (const scope of scopesOf(app)) {
      let made = this.#scopes.get(scope);
      if (made === undefined) this.#scopes.set(scope, (made = this.#within(around, scope)));
      around = made;
    }
    return around;
  }

  #within(around: Surroundings, { options, place }: Scope): Surroundings {
    if (options === false) return { options: around.options, limit: undefined };
    const hook = options.hook ?? around.options.hook ?? 'onRequest';
    const inherited = { ...inheritOptions(around.options, options), hook };
    if (!hasLimit(options)) return { options: inherited, limit: around.limit };
    const name = options.name ?? (place === '' ? 'default' : `scope-${hashed(place)}`);
    const named = options.limiter === undefined ? { ...inherited, name } : inherited;
    return { options: inherited, limit: this.#make(named as RouteLimitOptions, hook) };
  }

  #routeLimit(around: SluiceOptions, options: RouteLimitOptions, place: string): PlacedLimit {
    const places = this.#routes.get(options) ?? new Map<string, PlacedLimit>();
    this.#routes.set(options, places);
    const known = places.get(place);
    if (known !== undefined) return known;
    checkLimit(options, configOf(place), OWN_OPTIONS);
    const named =
      options.limiter !== undefined
        ? options
        : { ...options, name: options.name ?? this.#unusedName(nameOfRoute(place)) };
    const inherited = inheritOptions(around, named as RouteLimitOptions);
    const hook = options.hook ?? around.hook ?? 'onRequest';
    const limit = atPlace(configOf(place), () => this.#make(inherited, hook));
    places.set(place, limit);
    return limit;
  }

  /**
   * A second limit of a place, such as a hook beside a config or a route for another host, gets a number. No route's
   * name ends with `_` and a number: `/a-2` is `GET.a-2`.
   */
  #unusedName(name: string): string {
    const count = (this.#names.get(name) ?? 0) + 1;
    this.#names.set(name, count);
    return count === 1 ? name : `${name}_${String(count)}`;
  }

  #make(options: RouteLimitOptions, hook: LimitHook): PlacedLimit {
    const { layer, enforcer } = createEnforcer(options, framework, OWN_OPTIONS);
    if (options.limiter === undefined) this.#claimed.push(layer);
    return { layer, enforcer, hook };
  }
}

/** A place whose characters each have one of their own in a name. */
const READABLE = /^[A-Z][A-Z,]* (?:\/:?[A-Za-z0-9-]*)+$/;
/** Names have 64 characters at most: a number may follow. */
const LONGEST_NAME = 60;

/** Fastify's symbol for the object of a route, known after the first request; null if there is none. */
let routeSymbol: symbol | null | undefined;

/**
 * The object that Fastify stores for the route of a request, and for the 404s of a scope: `routeOptions` makes a new
 * object at each access. Undefined if it is not found.
 */
function routeOf(request: FastifyRequest): object | undefined {
  routeSymbol ??=
    Object.getOwnPropertySymbols(request).find(({ description }) => description === 'fastify.context') ?? null;
  return routeSymbol === null ? undefined : (request as unknown as Record<symbol, object | undefined>)[routeSymbol];
}

/** A route as written. For a GET route, Fastify adds a HEAD route; both are one place. */
export function placeOf(method: string | readonly string[] | undefined, url: string): string {
  const methods = [method ?? []].flat();
  const reads = methods.includes('GET') || methods.includes('HEAD');
  return `${reads ? 'GET' : [...methods].sort().join(',')} ${url}`;
}

/** The options of a route, as errors name them. */
export function configOf(place: string): string {
  return place.startsWith('hook') ? 'app.rateLimit()' : `config.rateLimit of ${place}`;
}

/**
 * The name of a route's limit, such as `GET.items._id` for `GET /items/:id`. Routes that would have one name, or a
 * longer one than names are, have a part of it and a hash; a hook, of which no route is known, has a hash.
 */
function nameOfRoute(place: string): string {
  const [methods = '', url = ''] = place.split(' /', 2);
  const readable = `${methods.replaceAll(',', '-')}.${url.replaceAll(/(^|\/):/g, '$1_').replaceAll('/', '.')}`;
  if (READABLE.test(place) && readable.length <= LONGEST_NAME) return readable;
  if (!place.includes(' /')) return `route-${hashed(place)}`;
  return `${readable.replaceAll(/[^\w.-]/g, '').slice(0, LONGEST_NAME - 11)}-${hashed(place)}`;
}

/** A short hash, the same in every process. */
function hashed(place: string): string {
  return createHash('sha256').update(place).digest('hex').slice(0, 10);
}
