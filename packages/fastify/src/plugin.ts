import { withLimiter, type Limited, type RateLimitInfo, type RequestLimiter } from '@sluice/core/http';
import type {
  FastifyBaseLogger,
  FastifyInstance,
  FastifyPluginCallback,
  FastifyRequest,
  FastifyTypeProvider,
  RawServerBase,
  RawServerDefault,
} from 'fastify';
import fp from 'fastify-plugin';
import { Limits, findLimits } from './limits.ts';
import { getRoutePlace } from './names.ts';
import {
  LIMIT_HOOKS,
  type LimitHook,
  type RateLimitOptions,
  type RouteLimitOptions,
  type SluiceOptions,
} from './options.ts';

/** A request of any route, over HTTP/1 or HTTP/2. */
type AnyRequest = Pick<FastifyRequest, 'ip' | 'method' | 'url'>;

/** A hook that limits its routes. `onRequest` is the earliest place for it. */
export interface RateLimitHook extends Limited<AnyRequest> {
  (request: AnyRequest, reply: object, ...rest: unknown[]): void;
}

declare module 'fastify' {
  interface FastifyRequest {
    /** The key and the decision, once a limit has seen the request. */
    rateLimit?: RateLimitInfo;
  }
  interface FastifyContextConfig {
    /** The limit of this route, instead of those of its scopes; false turns them off. */
    rateLimit?: RouteLimitOptions | false;
  }
  interface FastifyInstance {
    /**
     * A hook that limits its routes, which share its budget: `{ onRequest: app.rateLimit({ policy }) }`. It decides in
     * addition to the limit of the route or its scopes.
     */
    rateLimit(options: RateLimitOptions): RateLimitHook;
  }
}

declare module 'fastify/types/register.js' {
  interface RegisterOptions {
    /** The limit of the registered scope, as if the plugin were registered in it; false turns off those around it. */
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
    // Without type parameters, so that `byUser((request) => ...)` in the options infers the type of its request.
    (plugin: SluicePlugin, options: SluiceOptions & RegisterOptions): T;
  }
}

/** The plugin of `@sluice/fastify`. */
export interface SluicePlugin extends FastifyPluginCallback<SluiceOptions> {
  readonly [brand]: true;
}
declare const brand: unique symbol;

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
  const limits = findLimits(app) ?? install(app);
  limits.addScope(app, options, 'app.register(sluice)');
}

/** Adds hooks that see all requests of a scope and of scopes inside. The route of a request determines its limit. */
function install(app: FastifyInstance): Limits {
  const limits = new Limits(app);
  /** The first route that uses a hook of `app.rateLimit()`, which is named after it. */
  const firstRoutes = new WeakMap<object, string | undefined>();
  app.decorateRequest('rateLimit', undefined);
  app.decorate('rateLimit', rateLimit);
  app.addHook('onRegister', (scope, { config }) => {
    if (config?.rateLimit !== undefined) limits.addScope(scope, config.rateLimit, 'config.rateLimit of a scope');
  });
  app.addHook('onRoute', function (route) {
    const place = getRoutePlace(route.method, route.url);
    for (const hook of LIMIT_HOOKS.flatMap((name) => route[name] ?? [])) {
      if (firstRoutes.has(hook)) firstRoutes.set(hook, firstRoutes.get(hook) ?? place);
    }
    limits.prepareLater(() => limits.limitAt(this, route.config?.rateLimit, place));
  });
  app.addHook('onReady', (ready) => {
    limits.prepare();
    ready();
  });
  app.addHook('onClose', async () => limits.close());
  for (const name of LIMIT_HOOKS) {
    const hook = limitBy((request) => limits.limiterFor(request, name));
    (app.addHook as (name: LimitHook, hook: Hook) => unknown)(name, hook);
  }
  return limits;

  function rateLimit(this: FastifyInstance, options: RouteLimitOptions): RateLimitHook {
    let made: ReturnType<Limits['hookLimit']> | undefined;
    const limit = () => (made ??= limits.hookLimit(this, options, firstRoutes.get(hook) ?? `hook ${this.prefix}`));
    const hook = limitBy(() => limit().requests);
    firstRoutes.set(hook, undefined);
    limits.prepareLater(limit);
    return withLimiter(hook, {
      get limiter() {
        return limit().requests.limiter;
      },
      keyFor: async (request) => limit().requests.keyFor(request),
    });
  }
}

type Hook = (request: AnyRequest, reply: object, ...rest: unknown[]) => void;

/** Fastify calls the hook `preParsing` with the payload before `done`. */
function limitBy(find: (request: FastifyRequest) => RequestLimiter | undefined): Hook {
  return (request, reply, payloadOrDone, last) => {
    const done = (last ?? payloadOrDone) as (error?: unknown) => void;
    let limiter: ReturnType<typeof find>;
    try {
      limiter = find(request as FastifyRequest);
    } catch (error) {
      done(error);
      return;
    }
    if (limiter === undefined) done();
    else limiter.limitThen(request, reply, done);
  };
}
