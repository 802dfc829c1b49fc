import { warnOnce } from '@sluice/core/spi';
import type { ParameterizedContext } from 'koa';

/** A route of a router or, if it has no methods, its middleware. */
interface RouterLayer {
  readonly path: string | RegExp;
  readonly methods: readonly string[];
  readonly stack: readonly unknown[];
}

/** The common internals of the releases of `@koa/router`. */
interface Router {
  readonly stack: readonly RouterLayer[];
  match(path: string, method: string): Readonly<Record<'path' | 'pathAndMethod', readonly RouterLayer[]>>;
  matchHost?(host: string): boolean;
}

/** The fields that `@koa/router` and `koa-mount` store on the context. */
interface Routed {
  readonly router?: Router;
  readonly _matchedRoute?: RouterLayer['path'];
  readonly mountPath?: string;
}

type Context = ParameterizedContext<unknown, Routed>;

/** The routes that match a request's path. */
interface Routes {
  /** Those that also match its method. */
  readonly own: readonly RouterLayer[];
  readonly all: readonly RouterLayer[];
}

/**
 * The template of a request's route with its prefixes and mount path, as written in the application. Before the
 * router, where no route has matched yet, it is the route that will match. Undefined if there is none.
 *
 * @param self - The limiting middleware.
 */
export function routeTemplate(ctx: Context, self: unknown): string | undefined {
  const middleware: readonly unknown[] = ctx.app.middleware;
  const place = middleware.indexOf(self);
  if (place !== -1) return upcoming(ctx, [...middleware.slice(place), ...middleware.slice(0, place)]);

  const mounted = mountPath(ctx);
  if (ctx.router !== undefined && ctx._matchedRoute !== undefined) {
    const routes = findRoutes(ctx.router, ctx);
    const route =
      routes.own.find(({ stack }) => stack.includes(self)) ??
      routes.own.find(({ path }) => path === ctx._matchedRoute) ??
      getFirst(routes);
    return mounted + (route === undefined ? String(ctx._matchedRoute) : findTemplate(ctx.router, route));
  }
  if (mounted === '') return upcoming(ctx, middleware);
  warnOnce(
    'SLUICE_ROUTE_UNKNOWN',
    `byRoute() is used before the routes that are mounted on ${mounted}, which are hidden there: all paths below share one budget. ` +
      'For a budget per route, put the limiter on the routes themselves, or into their router with router.use.',
    mounted,
  );
  return mounted;
}

/** The template that the routers among these middleware will match. */
function upcoming(ctx: Context, middleware: readonly unknown[]): string | undefined {
  const routers = middleware
    .map((one) => (one as { readonly router?: Partial<Router> }).router)
    .filter((router): router is Router => typeof router?.match === 'function');
  if (routers.length === 0) {
    warnOnce(
      'SLUICE_ROUTE_UNKNOWN',
      'byRoute() cannot find a router in this application, so all requests share one budget. ' +
        'Put the limiter on the routes of @koa/router, or pass router.routes() to app.use directly.',
    );
  }
  // A route of another method, because later middleware may still change the request's method.
  let otherwise: string | undefined;
  for (const router of routers) {
    if (router.matchHost?.(ctx.host) === false) continue;
    const routes = findRoutes(router, ctx);
    const route = getFirst(routes);
    const template = route && findTemplate(router, route);
    if (routes.own.length > 0) return template;
    otherwise ??= template;
  }
  return otherwise;
}

/** The path as written or, for a route with a list of paths, all of them: these share one list of handlers. */
function findTemplate({ stack }: Router, route: RouterLayer): string {
  return stack
    .filter((layer) => layer.stack === route.stack)
    .map(({ path }) => String(path))
    .join(',');
}

function findRoutes(router: Router, ctx: Context): Routes {
  const matched = router.match(ctx.path, ctx.method === 'HEAD' ? 'GET' : ctx.method);
  return { own: matched.pathAndMethod.filter(isRoute), all: matched.path.filter(isRoute) };
}

function isRoute({ methods }: RouterLayer): boolean {
  return methods.length > 0;
}

/** The first one that the router runs. */
function getFirst({ own, all }: Routes): RouterLayer | undefined {
  return own[0] ?? all[0];
}

/**
 * The path that koa-mount removed, which is written in the application and has no parameters. Of nested mounts, only
 * the innermost is known: a rewrite may have removed the rest, such as the path of a tenant.
 */
function mountPath(ctx: Context): string {
  // The property remains on the context after a mounted application, when the path is whole again.
  const original = Object.create(ctx.request, { req: { value: { url: ctx.originalUrl } } }) as { path: string };
  return ctx.mountPath === undefined || ctx.path === original.path ? '' : ctx.mountPath.replace(/\/$/, '');
}
