import type { KeyByLimit, RateLimitInfo, Limited, ResponsePlan } from '@sluice/old-http';
import { withLimiter, type Enforcer, type KeyEachOptions, type OneKeyOptions } from '@sluice/old-http/spi';
import type {
  FastifyBaseLogger,
  FastifyInstance,
  FastifyPluginCallback,
  FastifyReply,
  FastifyRequest,
  FastifyTypeProvider,
  RawServerBase,
  RawServerDefault,
} from 'fastify';
import fp from 'fastify-plugin';
import { Limits, configOf, placeOf } from './limits.ts';
import {
  LIMIT_HOOKS,
  OWN_OPTIONS,
  checkLimit,
  type LimitHook,
  type RateLimitOptions,
  type RouteLimitOptions,
  type SluiceOptions,
} from './options.ts';
import { chainOf } from './application-chain.ts';
import { addScope, isOfScope } from './scopes.ts';

/** A request of any route, over HTTP/1 or HTTP/2. */
type AnyRequest = Pick<FastifyRequest, 'ip' | 'method' | 'url'>;

/** A hook that limits its routes. `onRequest` is the earliest place for it. */
export interface RateLimitHook<Key = string> extends Omit<Limited<AnyRequest, Key>, 'enforce'> {
  (request: AnyRequest, reply: object, ...rest: unknown[]): void;
  /** As `enforce` of every middleware: decides, and writes nothing to the response. */
  enforce(request: AnyRequest, reply: object): Promise<ResponsePlan<FastifyRequest, FastifyReply>>;
}

declare module 'fastify' {
  interface FastifyRequest {
    /** The key and the decision, once a limit has seen the request. */
    rateLimit?: RateLimitInfo;
  }
  interface FastifyContextConfig {
    /** The limit of this route, in place of those of its scopes; false turns them off. */
    rateLimit?: RouteLimitOptions | false;
  }
  interface FastifyInstance {
    /**
     * A hook that limits its routes, which share its budget: `{ onRequest: app.rateLimit({ policy }) }`. It decides
     * besides the limit of the route or its scopes.
     *
     * @throws PolicyError for bad or unknown options.
     */
    rateLimit(options: OneKeyOptions<FastifyRequest, FastifyReply>): RateLimitHook;
    rateLimit(options: KeyEachOptions<FastifyRequest, FastifyReply>): RateLimitHook<KeyByLimit>;
    rateLimit(options: RateLimitOptions): RateLimitHook<string | KeyByLimit>;
  }
}

declare module 'fastify/types/register.js' {
  interface RegisterOptions {
    /** Options for the registered scope, as if it registered the plugin itself. */
    config?: { rateLimit?: SluiceOptions | false };
  }
  /* eslint-disable @typescript-eslint/no-unused-vars -- an interface is added to under the parameters that it has */
  interface FastifyRegister<
    T = void,
    RawServer extends RawServerBase = RawServerDefault,
    TypeProviderDefault extends FastifyTypeProvider = FastifyTypeProvider,
    LoggerDefault extends FastifyBaseLogger = FastifyBaseLogger,
  > {
    /* eslint-enable @typescript-eslint/no-unused-vars */
    // Without type parameters, so that `byUser((request) => ...)` in the options knows its request.
    (plugin: SluicePlugin, options: SluiceOptions & RegisterOptions): T;
  }
}

/** The plugin of `@sluice/fastify`. */
export interface SluicePlugin extends FastifyPluginCallback<SluiceOptions> {
  readonly [brand]: true;
}
declare const brand: unique symbol;

/** A hook made by `app.rateLimit()`, which is named after the first route that uses it. */
interface HookPlace {
  place: string | undefined;
}

/** Scopes with our hooks: scopes inside have them too. */
const installed = new WeakSet<FastifyInstance>();
const limitsOfRoot = new WeakMap<FastifyInstance, Limits>();
const hookPlaces = new WeakMap<object, HookPlace>();

/**
 * Fastify plugin. Its limit applies to the scope in which it is registered, including 404s and routes declared before
 * it, unless an inner scope or a route's `config.rateLimit` has another. Without a limit, it only sets what the limits
 * of routes inherit.
 *
 * @example
 * ```ts
 * await app.register(sluice, { limit: 100, window: '1m' });
 * app.get('/report', { config: { rateLimit: { policy } } }, handler);
 * ```
 *
 * @throws (rejects, when the application becomes ready) PolicyError for bad or unknown options, with the field, what
 * was expected and what was given.
 */
export const sluice: SluicePlugin = fp(register, { fastify: '5.x', name: '@sluice/fastify' }) as object as SluicePlugin;

// Async, so that Fastify reports an error thrown here unchanged.
// eslint-disable-next-line @typescript-eslint/require-await
async function register(app: FastifyInstance, options: SluiceOptions): Promise<void> {
  const chain = chainOf(app);
  const root = chain[0] as FastifyInstance;
  const limits = limitsOfRoot.get(root) ?? new Limits();
  const isFirstInScope = !chain.some((at) => installed.has(at));
  limitsOfRoot.set(root, limits);
  addScope(app, options);
  limits.prepareLater(() => limits.limitAt(app));
  if (isFirstInScope) install(app, limits);
}

/** Adds hooks that see all requests of a scope and of scopes inside. The route of a request determines its limits. */
function install(app: FastifyInstance, limits: Limits): void {
  installed.add(app);
  app.decorateRequest('rateLimit', undefined);
  app.decorate('rateLimit', rateLimit as FastifyInstance['rateLimit']);
  app.addHook('onRegister', (scope, given) => {
    if (given.config?.rateLimit !== undefined) addScope(scope, given.config.rateLimit);
  });
  app.addHook('onRoute', function (route) {
    const place = placeOf(route.method, route.url);
    for (const hook of LIMIT_HOOKS.flatMap((name) => route[name] ?? [])) {
      const found = hookPlaces.get(hook);
      if (found !== undefined) found.place ??= place;
    }
    const own = route.config?.rateLimit;
    if (own === undefined || own === false || isOfScope(this, own)) return;
    checkLimit(own, configOf(place), OWN_OPTIONS);
    limits.prepareLater(() => limits.limitAt(this, own, place));
  });
  app.addHook('onReady', (ready) => {
    limits.prepare();
    ready();
  });
  app.addHook('onClose', async () => limits.close());
  for (const hook of LIMIT_HOOKS) {
    const limit = limitAt((request) => (limits.uses(hook) ? limits.enforcerFor(request, hook) : undefined));
    addHook(app, hook, limit);
  }

  function rateLimit(this: FastifyInstance, options: RouteLimitOptions): RateLimitHook<never> {
    checkLimit(options, 'app.rateLimit()', []);
    const found: HookPlace = { place: undefined };
    let made: ReturnType<Limits['hookLimit']> | undefined;
    const limit = () => (made ??= limits.hookLimit(this, options, found.place ?? `hook ${this.prefix}`));
    limits.prepareLater(limit);
    const handler = withLimiter(
      limitAt(() => limit().enforcer),
      () => limit().layer,
    );
    hookPlaces.set(handler, found);
    return handler;
  }
}

/** Fastify calls the hook `preParsing` with the payload before `done`. */
function limitAt(
  enforcerFor: (request: FastifyRequest) => Enforcer<FastifyRequest, FastifyReply> | undefined,
): (request: AnyRequest, reply: object, ...rest: unknown[]) => void {
  return (request, reply, payloadOrDone, last) => {
    const done = (last ?? payloadOrDone) as (error?: unknown) => void;
    let enforcer: Enforcer<FastifyRequest, FastifyReply> | undefined;
    try {
      enforcer = enforcerFor(request as FastifyRequest);
    } catch (error) {
      done(error);
      return;
    }
    if (enforcer === undefined) done();
    else enforcer.limitThen(request as FastifyRequest, reply as FastifyReply, done);
  };
}

function addHook(app: FastifyInstance, name: LimitHook, hook: ReturnType<typeof limitAt>): void {
  (app.addHook as (name: LimitHook, hook: ReturnType<typeof limitAt>) => unknown)(name, hook);
}
