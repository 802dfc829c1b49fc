import { createHash } from 'node:crypto';
import { PolicyError, type Store } from '@sluice/core';
import { Enforcer, Layer, atPlace, hasLimit, inheritOptions, outermost } from '@sluice/http/spi';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { framework } from './framework.ts';
import { ROUTE_OPTIONS, checkLimit, type LimitHook, type RouteLimitOptions, type SluiceOptions } from './options.ts';
import { isOfScope, scopesOf, type Scope } from './scopes.ts';

type FastifyLayer = Layer<FastifyRequest, FastifyReply>;
type FastifyEnforcer = Enforcer<FastifyRequest, FastifyReply>;
type ByHook = ReadonlyMap<LimitHook, FastifyEnforcer>;

/** The inherited options of a place, and the limits that apply there. */
interface Surroundings {
  readonly options: SluiceOptions;
  readonly layers: readonly { readonly layer: FastifyLayer; readonly hook: LimitHook }[];
}

/**
 * The limits of one application, in all its scopes: made when it is ready or, for routes that were declared before
 * the plugin, at their first request.
 */
export class Limits {
  /** By the config object of the route: Fastify makes one per route. */
  readonly #enforcers = new WeakMap<object, ByHook>();
  /** The same, and the limits of 404s, by Fastify's own object for the route. */
  readonly #ofRoute = new WeakMap<object, ByHook>();
  readonly #unmatched = new WeakMap<FastifyInstance, ByHook>();
  readonly #scopes = new Map<Scope, Surroundings>();
  /** By the options and the place, so that HEAD and GET share one. */
  readonly #routes = new WeakMap<object, Map<string, FastifyLayer>>();
  /** The first definition of each group. */
  readonly #groups = new Map<string, { readonly definition: string; readonly store: Store }>();
  readonly #names = new Map<string, number>();
  readonly #claimed: FastifyLayer[] = [];
  readonly #later: (() => void)[] = [];
  readonly #hooks = new Set<LimitHook>();
  readonly #outside: Surroundings = { options: outermost({}), layers: [] };

  /** Whether any limit decides at this hook. Limits declared before the plugin become known at the first hook. */
  uses(hook: LimitHook): boolean {
    return hook === 'onRequest' || this.#hooks.has(hook);
  }

  /** The enforcer for a request at a hook; undefined if there is none. */
  enforcerFor(request: FastifyRequest, hook: LimitHook): FastifyEnforcer | undefined {
    const route = routeOf(request);
    if (route === undefined) return this.#byHookFor(request).get(hook);
    let enforcers = this.#ofRoute.get(route);
    if (enforcers === undefined) {
      enforcers = this.#byHookFor(request);
      this.#ofRoute.set(route, enforcers);
    }
    return enforcers.get(hook);
  }

  #byHookFor(request: FastifyRequest): ByHook {
    const { config, url, method } = request.routeOptions;
    if (url === undefined) {
      let unmatched = this.#unmatched.get(request.server);
      if (unmatched === undefined) this.#unmatched.set(request.server, (unmatched = this.#combined(request.server)));
      return unmatched;
    }
    let enforcers = this.#enforcers.get(config);
    if (enforcers === undefined) {
      enforcers = this.#combined(request.server, config.rateLimit, placeOf(method, url));
      this.#enforcers.set(config, enforcers);
    }
    return enforcers;
  }

  /**
   * Schedules the limits of a scope or a route to be made when the application becomes ready, so that mistakes show
   * before the first request.
   */
  prepareLater(app: FastifyInstance, route?: RouteLimitOptions | false, place?: string): void {
    this.#later.push(() => this.#combined(app, route, place));
  }

  /** As {@link prepareLater}, for a limit in a route's own hook. */
  prepareHookLater(make: () => unknown): void {
    this.#later.push(make);
  }

  /**
   * Makes the scheduled limits, in the order of their declaration.
   *
   * @throws PolicyError for bad options, and for limits that cannot be decided together.
   */
  prepare(): void {
    for (const make of this.#later.splice(0)) make();
  }

  /** Releases the names, and closes the limiters with their stores. */
  async close(): Promise<void> {
    await Promise.all(this.#claimed.map(({ core }) => core.close()));
  }

  /** The limit of a route's own hook, which decides alone. */
  hookLayer(app: FastifyInstance, options: RouteLimitOptions, place: string): FastifyLayer {
    return this.#routeLayer(this.#surroundings(app).options, options, place);
  }

  #combined(app: FastifyInstance, route?: RouteLimitOptions | false, place = ''): ByHook {
    if (route === false) return new Map();
    const around = this.#surroundings(app);
    let { layers } = around;
    if (route !== undefined && !isOfScope(app, route)) {
      const layer = this.#routeLayer(around.options, route, place);
      const own = { layer, hook: route.hook ?? around.options.hook ?? 'onRequest' };
      layers = route.override === true ? [own] : [...layers, own];
    }
    const byHook = new Map<LimitHook, FastifyEnforcer>();
    for (const hook of new Set(layers.map((one) => one.hook))) {
      this.#hooks.add(hook);
      const together = layers.filter((one) => one.hook === hook).map(({ layer }) => layer);
      byHook.set(hook, new Enforcer(together, framework));
    }
    return byHook;
  }

  /** The scopes around a place, the outermost first. Each is made once. */
  #surroundings(app: FastifyInstance): Surroundings {
    let around = this.#outside;
    for (const scope of scopesOf(app)) {
      let made = this.#scopes.get(scope);
      if (made === undefined) this.#scopes.set(scope, (made = this.#within(around, scope)));
      around = made;
    }
    return around;
  }

  /** The limits inside a scope, from those around it. */
  #within(around: Surroundings, { options, place }: Scope): Surroundings {
    if (options === false) return { options: around.options, layers: [] };
    const inherited = inheritOptions(around.options, options);
    const hook = options.hook ?? around.options.hook ?? 'onRequest';
    const outer = options.override === true ? [] : around.layers;
    if (!hasLimit(options)) return { options: { ...inherited, hook }, layers: outer };
    const name = options.name ?? (place === '' ? 'default' : `scope-${hashed(place)}`);
    const named = options.limiter === undefined ? { ...inherited, name } : inherited;
    const layer = new Layer(named as RouteLimitOptions, framework, ROUTE_OPTIONS);
    this.#claim(layer);
    return { options: { ...inherited, hook }, layers: [...outer, { layer, hook }] };
  }

  #routeLayer(around: SluiceOptions, options: RouteLimitOptions, place: string): FastifyLayer {
    const places = this.#routes.get(options) ?? new Map<string, FastifyLayer>();
    this.#routes.set(options, places);
    const known = places.get(place);
    if (known !== undefined) return known;
    checkLimit(options, configOf(place), ROUTE_OPTIONS);
    const { group } = options;
    const named =
      options.limiter !== undefined
        ? options
        : group === undefined
          ? { ...options, name: options.name ?? this.#unusedName(nameOfRoute(place)) }
          : { ...options, name: group, shared: true };
    const inherited = inheritOptions(around, named as RouteLimitOptions);
    // All routes of a group count as one, in keys too.
    const record: typeof framework.record = (request, info) => {
      framework.record(request, info);
    };
    const ofGroup = group === undefined ? framework : { ...framework, route: () => group, record };
    const layer = atPlace(configOf(place), () => new Layer(inherited, ofGroup, ROUTE_OPTIONS));
    if (group !== undefined) this.#checkGroup(group, options, layer);
    this.#claim(layer);
    places.set(place, layer);
    return layer;
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

  #claim(layer: FastifyLayer): void {
    layer.claim();
    if (layer.options.limiter === undefined) this.#claimed.push(layer);
  }

  #checkGroup(
    group: string,
    { name, policy, limit, window, limits, limiter }: RouteLimitOptions,
    { core: { store } }: FastifyLayer,
  ): void {
    if (name !== undefined || limiter !== undefined) {
      throw new PolicyError(
        'group',
        `group is the name of the limit, which excludes another name or limiter, got ${name === undefined ? 'limiter' : 'name'} beside group ${JSON.stringify(group)}`,
        'SLUICE_OPTION_INVALID',
      );
    }
    const definition = JSON.stringify({
      policy: typeof policy === 'function' ? String(policy) : policy,
      limit,
      window,
      limits,
    });
    const first = this.#groups.get(group) ?? { definition, store };
    this.#groups.set(group, first);
    if (first.store !== store) {
      throw new PolicyError(
        'group',
        `the routes of group ${JSON.stringify(group)} share one budget, so they need one store, got a second one`,
        'SLUICE_OPTION_INVALID',
      );
    }
    if (first.definition !== definition) {
      throw new PolicyError(
        'group',
        `the routes of group ${JSON.stringify(group)} share one budget, so they need the same limit, got ${definition} after ${first.definition}`,
        'SLUICE_OPTION_INVALID',
      );
    }
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
