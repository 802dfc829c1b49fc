import type { ExecutionContext, OnApplicationBootstrap, OnApplicationShutdown } from '@nestjs/common';
import { MetadataScanner, type ModulesContainer } from '@nestjs/core';
import { PolicyError, type Limiter } from '@sluice/old-core';
import {
  Enforcer,
  Layer,
  atPlace,
  checkPlace,
  hasLimit,
  inheritOptions,
  namedByPlace,
  outermost,
} from '@sluice/old-http/spi';
import type { ResponsePlan } from '@sluice/old-http';
import { framework, frameworkFor } from './framework.ts';
import type { NestRequest } from './nest-request.ts';
import type { NestResponse } from './nest-response.ts';
import { limitsOf, skippedOf, type Placed } from './rate-limit.decorator.ts';
import type { RateLimitOptions, RateLimitScopeOptions } from './rate-limit.options.ts';
import { commonRoute } from './several-paths.ts';
import { leaveOut, type Surroundings } from './skipped-limits.ts';
import { unknownName } from './unknown-name.ts';

type NestLayer = Layer<NestRequest, NestResponse>;
type NestEnforcer = Enforcer<NestRequest, NestResponse>;
// eslint-disable-next-line @typescript-eslint/no-unsafe-function-type -- as Nest has it
type Target = Function;

/**
 * All limits of an application: those of the module, of classes and of methods. Inject it to reset or block keys:
 * `await limits.limiter('login').reset(await limits.keyFor('login', request))`.
 */
export class RateLimits implements OnApplicationBootstrap, OnApplicationShutdown {
  readonly #options: RateLimitScopeOptions;
  readonly #modules: ModulesContainer;
  readonly #ofModule: NestLayer | undefined;
  /** The layers of `@RateLimit()`, in the order in which they were found. */
  readonly #placed = new Map<Placed, NestLayer>();
  readonly #claimed = new Set<NestLayer>();
  /** By class and handler; null where no limit applies. */
  readonly #handlers = new WeakMap<Target, WeakMap<Target, NestEnforcer | null>>();
  /** The enforcers of `enforce`. */
  readonly #alone = new WeakMap<NestLayer, NestEnforcer>();

  /** @throws PolicyError for bad or unknown options of the module. */
  constructor(options: RateLimitScopeOptions, modules: ModulesContainer) {
    atPlace('the options of RateLimitModule', () => {
      checkPlace(options, framework, [], true);
    });
    this.#options = outermost(options);
    this.#modules = modules;
    this.#ofModule = hasLimit(options) ? new Layer(this.#options as RateLimitOptions, framework) : undefined;
  }

  /**
   * The limiter of a name. By default, that of the module is `default`, and those of decorators are `Orders` or
   * `Orders.list`. `Key` is a string or, with `limits`, an object with a key per limit.
   *
   * @throws PolicyError for an unknown name, or when a function picks the policy.
   */
  limiter<Key = string>(name: string): Limiter<Key> {
    return this.#named(name).limiter;
  }

  /**
   * The key of a request for a limiter or, with `limits`, its keys by limit.
   *
   * @throws (rejects) PolicyError for an unknown name; TypeError `SLUICE_KEY_INVALID` for a request without a key.
   */
  async keyFor<Key = string>(name: string, request: object): Promise<Key> {
    return (await this.#named(name).keyFor(request as NestRequest)) as Key;
  }

  /**
   * The limiter of a name for a request, also if a function picks the policy: see `limiterFor` of other frameworks.
   *
   * @throws (rejects) PolicyError for an unknown name; errors of that function.
   */
  async limiterFor<Key = string>(name: string, request: object): Promise<Limiter<Key>> {
    return this.#named(name).limiterFor(request as NestRequest);
  }

  /**
   * Decides about a request by the limit of one name alone, and writes nothing to the response. The request counts
   * once, here or in the guard.
   *
   * @throws (rejects) PolicyError for an unknown name; errors of the user's functions; StoreError, with
   * `onStoreError: 'throw'`.
   *
   * A handler with several paths is one route only in the guard: here `byRoute()` reads the path of the request.
   */
  async enforce(name: string, request: object, response: object): Promise<ResponsePlan<NestRequest, NestResponse>> {
    const layer = this.#named(name);
    let enforcer = this.#alone.get(layer);
    if (enforcer === undefined) this.#alone.set(layer, (enforcer = new Enforcer([layer], framework)));
    return enforcer.enforce(request as NestRequest, response as NestResponse);
  }

  /** The enforcer for a call of a handler; undefined if no limit applies. */
  enforcerFor(context: ExecutionContext): NestEnforcer | undefined {
    const [type, handler] = [context.getClass(), context.getHandler()];
    let enforcer = this.#handlers.get(type)?.get(handler);
    if (enforcer === undefined) {
      enforcer = this.#make(type, handler);
      this.#claim();
    }
    return enforcer ?? undefined;
  }

  /**
   * Makes the limits of all handlers, so that mistakes fail the start of the application.
   *
   * @throws PolicyError for names that are taken or unknown, and for limits that cannot be decided together.
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
    const scanner = new MetadataScanner();
    for (const { controllers, providers } of modules) {
      for (const { metatype, inject, instance } of [...controllers.values(), ...providers.values()]) {
        const type: unknown = inject === undefined ? metatype : (instance as object | null)?.constructor;
        if (typeof type === 'function' && type.prototype !== undefined) this.#prepare(type, scanner);
      }
    }
    this.#claim();
  }

  /** Releases the names, so that another application of this process can use them. */
  async onApplicationShutdown(): Promise<void> {
    await Promise.all([...this.#claimed].map((layer) => layer.core.close()));
  }

  #prepare(type: Target, scanner: MetadataScanner): void {
    const prototype = type.prototype as Readonly<Record<string, Target>>;
    const hasClassLimits = isDecorated(type);
    for (const name of scanner.getAllMethodNames(prototype)) {
      const handler = prototype[name];
      if (handler !== undefined && (hasClassLimits || isDecorated(handler))) this.#make(type, handler);
    }
  }

  #make(type: Target, handler: Target): NestEnforcer | null {
    const layers = this.#layersOf(type, handler);
    const ofHandler = frameworkFor(commonRoute(type, handler));
    const own = ofHandler === framework ? layers : layers.map((layer) => layer.variant({ framework: ofHandler }));
    const enforcer = own.length === 0 ? null : new Enforcer(own, ofHandler);
    const ofType = this.#handlers.get(type) ?? new WeakMap<Target, NestEnforcer | null>();
    this.#handlers.set(type, ofType.set(handler, enforcer));
    return enforcer;
  }

  /** The limits of module, class and method, the outermost first, without those that are skipped. */
  #layersOf(type: Target, handler: Target): readonly NestLayer[] {
    const outside = this.#ofModule === undefined ? [] : [this.#ofModule];
    const ofClass = this.#within({ all: outside, layers: outside }, limitsOf(type));
    const beside = leaveOut(ofClass, skippedOf(type), type.name);
    const ofMethod = this.#within({ all: ofClass.all, layers: beside }, limitsOf(handler));
    return leaveOut(ofMethod, skippedOf(handler), `${type.name}.${handler.name}`);
  }

  #within({ all, layers }: Surroundings, placed: readonly Placed[]): Surroundings {
    const targets = [...new Set(placed.map((one) => one.target))];
    const own = targets.flatMap((target) =>
      placed.filter((one) => one.target === target).map((one, i) => this.#layerOf(one, i)),
    );
    return { all: [...all, ...own], layers: [...layers, ...own] };
  }

  #layerOf(placed: Placed, index: number): NestLayer {
    const known = this.#placed.get(placed);
    if (known !== undefined) return known;
    const place = index === 0 ? placed.place : `${placed.place}-${String(index + 1)}`;
    const options: RateLimitOptions = inheritOptions(this.#options, placed.options);
    const layer = new Layer(namedByPlace(options, place), framework);
    this.#denyTwin(placed, layer);
    this.#placed.set(placed, layer);
    return layer;
  }

  /**
   * Rejects a default name that two classes of one name share. The store would reject it too, but without the places.
   */
  #denyTwin({ place, target }: Placed, { name, core, options }: NestLayer): void {
    for (const [other, layer] of this.#placed) {
      if (layer.name.toLowerCase() !== name.toLowerCase() || layer.core.store !== core.store) continue;
      if (options.limiter !== undefined || layer.options.limiter !== undefined) continue;
      if (options.shared === true && layer.options.shared === true) continue;
      const elsewhere = other.place === place ? 'on classes of one name' : `on ${other.place} and on ${place}`;
      const where = other.target === target ? `on ${place}` : elsewhere;
      throw new PolicyError(
        'name',
        `two @RateLimit() decorators have the name ${JSON.stringify(name)}, ${where}; give one of them a name, as in @RateLimit({ name: "...", ... }), or both shared: true for one budget`,
        'SLUICE_LIMITER_NAME_TAKEN',
      );
    }
  }

  /** Takes all names, or none. */
  #claim(): void {
    const before = new Set(this.#claimed);
    try {
      for (const layer of this.#layers) {
        if (this.#claimed.has(layer)) continue;
        layer.claim();
        if (layer.options.limiter === undefined) this.#claimed.add(layer);
      }
    } catch (error) {
      for (const layer of this.#claimed) {
        if (before.has(layer)) continue;
        this.#claimed.delete(layer);
        void layer.core.close();
      }
      throw error;
    }
  }

  get #layers(): readonly NestLayer[] {
    return [...(this.#ofModule === undefined ? [] : [this.#ofModule]), ...this.#placed.values()];
  }

  #named(name: string): NestLayer {
    const layer = this.#layers.find((one) => one.name === name);
    if (layer !== undefined) return layer;
    const names = this.#layers.map((one) => one.name);
    throw unknownName('name', `there is no limiter named ${JSON.stringify(name)}`, names);
  }
}

function isDecorated(target: Target): boolean {
  return limitsOf(target).length > 0 || skippedOf(target) !== undefined;
}
