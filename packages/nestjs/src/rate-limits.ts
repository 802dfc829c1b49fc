import type { ExecutionContext, OnApplicationBootstrap, OnApplicationShutdown } from '@nestjs/common';
import { MetadataScanner, type ModulesContainer } from '@nestjs/core';
import { PolicyError, memoryStore, type Limiter } from '@sluice/core';
import { Place, RequestLimiter, atPlace, hasLimit, inheritOptions, namedByPlace } from '@sluice/core/http';
import { shown, warnOnce } from '@sluice/core/spi';
import { framework, reporting } from './framework.ts';
import type { NestRequest, NestResponse } from './nest-types.ts';
import { readLimits, readSkipped, type Placed } from './rate-limit.decorator.ts';
import type { RateLimitScopeOptions } from './rate-limit.options.ts';
import { readCommonRoute, setRoute } from './route-template.ts';
import { leaveOut, unknownName, type NestLimits } from './skipped-limits.ts';

// eslint-disable-next-line @typescript-eslint/no-unsafe-function-type -- as Nest has it
type Target = Function;

interface HandlerLimits {
  /** One for each limit that only reports, then one for all others; none if no limit applies. */
  readonly limiters: readonly RequestLimiter[];
  /** Undefined for a handler with one path. */
  readonly route: string | undefined;
}

/**
 * All limits of an application: those of the module, of classes and of methods. Inject it to reset or block keys:
 * `await limits.limiter('login').reset(await limits.keyFor('login', request))`.
 */
export class RateLimits implements OnApplicationBootstrap, OnApplicationShutdown {
  readonly #options: RateLimitScopeOptions;
  readonly #modules: ModulesContainer;
  readonly #ofModule: readonly Place[];
  /** The places of `@RateLimit()`, in the order in which they were found. */
  readonly #placed = new Map<Placed, Place>();
  readonly #handlers = new WeakMap<Target, WeakMap<Target, HandlerLimits>>();
  readonly #alone = new WeakMap<NestLimits, RequestLimiter>();

  /** @throws PolicyError for bad or unknown options of the module. */
  constructor(options: RateLimitScopeOptions, modules: ModulesContainer) {
    this.#modules = modules;
    [this.#options, this.#ofModule] = atPlace('RateLimitModule', () => {
      const complete = inheritOptions({ store: memoryStore() }, options);
      return [complete, hasLimit(options) ? [new Place(complete, framework)] : []];
    });
  }

  /**
   * The limiter with this name. By default, the module's is `default`, and a decorator's is `Orders` or `Orders.list`.
   * `Key` is a string or, with `limits`, an object with a key per limit.
   *
   * @throws PolicyError for an unknown name, or if a function picks the policy.
   */
  limiter<Key = string>(name: string): Limiter<Key> {
    return this.#find(name).limiter;
  }

  /**
   * The key of a request for a limiter or, with `limits`, its keys by limit.
   *
   * @throws (rejects) PolicyError for an unknown name; TypeError `SLUICE_KEY_INVALID` for a request without a key.
   */
  async keyFor<Key = string>(name: string, request: object): Promise<Key> {
    return (await this.#limiterOf(this.#find(name)).keyFor(request)) as Key;
  }

  /** Decides about a call to a handler, and responds if it is denied. Returns whether it continues. */
  limit(context: ExecutionContext): boolean | Promise<boolean> {
    const { limiters, route } = this.#limitsFor(context.getClass(), context.getHandler());
    const [only] = limiters;
    if (only === undefined) return true;
    const type = context.getType<string>();
    if (type !== 'http') {
      warnAboutContext(type);
      return true;
    }
    const http = context.switchToHttp();
    const [request, response] = [http.getRequest<NestRequest>(), http.getResponse<NestResponse>()];
    if (route !== undefined) setRoute(request, route);
    if (limiters.length === 1) return only.limit(request, response);
    const passes = limiters.map((limiter) => limiter.limit(request, response));
    if (!passes.some((one) => one instanceof Promise)) return passes.every(Boolean);
    return Promise.all(passes.map(async (one) => one)).then((all) => all.every(Boolean));
  }

  /**
   * Creates the limits of all handlers, so that mistakes fail the start of the application.
   *
   * @throws PolicyError for bad or unknown options, for names that are taken or unknown, and for limits that cannot be
   * decided together.
   */
  onApplicationBootstrap(): void {
    const modules = [...this.#modules.values()];
    if (modules.filter(({ providers }) => providers.has(RateLimits)).length > 1) {
      throw new PolicyError(
        'forRoot',
        'RateLimitModule.forRoot() is imported more than once, so every request would count several times; import it once, in the root module',
        'SLUICE_OPTION_INVALID',
      );
    }
    for (const place of this.#ofModule) atPlace('RateLimitModule', () => place.claim());
    const scanner = new MetadataScanner();
    for (const { metatype } of modules.flatMap(({ controllers }) => [...controllers.values()])) {
      if (typeof metatype !== 'function') continue;
      const prototype = metatype.prototype as Readonly<Record<string, Target>>;
      for (const name of scanner.getAllMethodNames(prototype)) this.#limitsFor(metatype, prototype[name] as Target);
    }
  }

  /** Releases the names, so that another application in this process can use them. */
  async onApplicationShutdown(): Promise<void> {
    await Promise.all(this.#places.map((place) => place.close()));
  }

  get #places(): readonly Place[] {
    return [...this.#ofModule, ...this.#placed.values()];
  }

  #limitsFor(type: Target, handler: Target): HandlerLimits {
    const ofType = this.#handlers.get(type) ?? new WeakMap<Target, HandlerLimits>();
    let limits = ofType.get(handler);
    if (limits === undefined) {
      limits = { limiters: this.#limitersFor(type, handler), route: readCommonRoute(type, handler) };
      this.#handlers.set(type, ofType.set(handler, limits));
    }
    return limits;
  }

  #limitersFor(type: Target, handler: Target): readonly RequestLimiter[] {
    const outside = [...this.#ofModule, ...this.#placesOf(type)];
    const own = this.#placesOf(handler);
    const beside = leaveOut(outside, outside, readSkipped(type), type.name);
    const where = `${type.name}.${handler.name}`;
    const limits = leaveOut([...beside, ...own], [...outside, ...own], readSkipped(handler), where);
    const reported = limits.filter(({ settings }) => settings.mode === 'report');
    const enforced = limits.filter(({ settings }) => settings.mode === 'enforce');
    const apart = enforced.length < 2 ? [...reported, ...enforced] : reported;
    const limiters = apart.map((one) => this.#limiterOf(one));
    return apart === reported ? [...limiters, new RequestLimiter(enforced, framework)] : limiters;
  }

  /** The limiter of a place that decides alone: the same for all handlers. */
  #limiterOf(limits: NestLimits): RequestLimiter {
    let limiter = this.#alone.get(limits);
    if (limiter === undefined) {
      limiter = new RequestLimiter([limits], limits.settings.mode === 'report' ? reporting : framework);
      this.#alone.set(limits, limiter);
    }
    return limiter;
  }

  /** The limits of a class with its base classes, or of a method; the outermost first. */
  #placesOf(target: Target): readonly Place[] {
    const all = readLimits(target);
    return all.map((one) => {
      let place = this.#placed.get(one);
      if (place !== undefined) return place;
      const before = all.filter((other) => other.place === one.place).indexOf(one);
      const name = before === 0 ? one.place : `${one.place}-${String(before + 1)}`;
      place = atPlace(`@RateLimit() on ${one.place}`, () =>
        new Place(namedByPlace(inheritOptions(this.#options, one.options), name), framework).claim(),
      );
      this.#placed.set(one, place);
      return place;
    });
  }

  #find(name: string): Place {
    const place = this.#places.find((one) => one.name === name);
    if (place !== undefined) return place;
    const names = this.#places.map((one) => one.name);
    throw unknownName('name', `there is no limiter named ${shown(name)}`, names);
  }
}

function warnAboutContext(type: string): void {
  warnOnce(
    'SLUICE_CONTEXT_UNKNOWN',
    `RateLimitGuard only limits HTTP requests, and lets every call in a context of type ${shown(type)} pass. ` +
      'Count there with createLimiter in the handler, and write @SkipRateLimit() on it, or extend the guard with a shouldSkip(context) that returns true.',
    type,
  );
}
