import { warnOnce } from '@sluice/core/http';
import type { ParameterizedContext } from 'koa';

/** A route of a router or, where it has no methods, a middleware of one. */
interface RouterLayer {
  readonly path: string | RegExp;
  readonly methods: readonly string[];
  readonly paramNames: readonly unknown[];
  readonly stack: readonly unknown[];
}

/** What the releases of `@koa/router` have in common inside. */
interface Router {
  readonly opts: { readonly routerPath?: string; readonly exclusive?: unknown };
  readonly exclusive?: boolean;
  readonly stack: readonly RouterLayer[];
  match(path: string, method: string): Readonly<Record<'path' | 'pathAndMethod', readonly RouterLayer[]>>;
  matchHost?(host: string): boolean;
}

/** What `@koa/router` and `koa-mount` leave on the context. */
interface Routed {
  readonly router?: Router;
  readonly newRouterPath?: string;
  readonly _matchedRoute?: RouterLayer['path'];
  readonly mountPath?: string;
}

type Context = ParameterizedContext<unknown, Routed>;

/** The routes that stand on a request's path. */
interface Routes {
  /** Of its method. */
  readonly own: readonly RouterLayer[];
  readonly all: readonly RouterLayer[];
}

/**
 * The template of a request's route, prefixes and mount path included, as it is written in the application. Ahead of the
 * router, where no route has matched yet, the one that is going to. Undefined when there is none.
 *
 * @param self - The middleware that asks.
 */
export function routeTemplate(ctx: Context, self: unknown): string | undefined {
  const middleware: readonly unknown[] = ctx.app.middleware;
  const place = middleware.indexOf(self);
  if (place !== -1) return upcoming(ctx, [...middleware.slice(place), ...middleware.slice(0, place)]);

  const mounted = mountPath(ctx);
  if (ctx.router !== undefined && ctx._matchedRoute !== undefined) {
    const routes = routesOf(ctx.router, ctx);
    const route =
      routes.own.find(({ stack }) => stack.includes(self)) ??
      routes.own.find(({ path }) => path === ctx._matchedRoute) ??
      firstToRun(ctx.router, routes);
    return mounted + (route === undefined ? String(ctx._matchedRoute) : templateOf(ctx.router, route));
  }
  if (mounted === '') return upcoming(ctx, middleware);
  warnOnce(
    'SLUICE_ROUTE_UNKNOWN',
    `byRoute() was asked ahead of the routes that are mounted on ${mounted}, which cannot be seen from there: all below it shares one budget. ` +
      'Put the limiter on the routes themselves, or into their router with router.use, for budgets of their own.',
    mounted,
  );
  return mounted;
}

/** What the routers among these middleware are going to match. */
function upcoming(ctx: Context, middleware: readonly unknown[]): string | undefined {
  const routers = middleware
    .map((one) => (one as { readonly router?: Partial<Router> }).router)
    .filter((router): router is Router => typeof router?.match === 'function');
  if (routers.length === 0) {
    warnOnce(
      'SLUICE_ROUTE_UNKNOWN',
      'byRoute() was asked in an application without a router that can be seen, so all requests share one budget. ' +
        'Put the limiter on the routes of @koa/router, or give the router to app.use itself.',
    );
  }
  // The route of another method, for a middleware behind may yet change the request's.
  let otherwise: string | undefined;
  for (const router of routers) {
    if (router.matchHost?.(ctx.host) === false) continue;
    const routes = routesOf(router, ctx);
    const route = firstToRun(router, routes);
    const template = route && templateOf(router, route);
    if (routes.own.length > 0) return template;
    otherwise ??= template;
  }
  return otherwise;
}

/** The path as it is written or, of a route that was given a list of them, all: they share one list of handlers. */
function templateOf({ stack }: Router, route: RouterLayer): string {
  return stack
    .filter((layer) => layer.stack === route.stack)
    .map(({ path }) => String(path))
    .join(',');
}

function routesOf(router: Router, ctx: Context): Routes {
  const path = router.opts.routerPath ?? ctx.newRouterPath ?? ctx.path;
  const matched = router.match(path, ctx.method === 'HEAD' ? 'GET' : ctx.method);
  return { own: matched.pathAndMethod.filter(isRoute), all: matched.path.filter(isRoute) };
}

function isRoute({ methods }: RouterLayer): boolean {
  return methods.length > 0;
}

/** A router runs all that match, in order, unless it is exclusive. */
function firstToRun({ exclusive, opts }: Router, { own, all }: Routes): RouterLayer | undefined {
  const routes = own.length > 0 ? own : all;
  if (exclusive !== true) return routes[0];
  if (opts.exclusive !== 'specificity') return routes.at(-1);
  return routes.toSorted((one, other) => one.paramNames.length - other.paramNames.length)[0];
}

/**
 * The path that koa-mount took off, which is written in the application and has no parameters. Of mounts inside each
 * other it tells the innermost: the path that is missing in front might as well be a tenant's, taken off by a rewrite.
 */
function mountPath(ctx: Context): string {
  // It stays on the context behind a mounted application too, where the path is whole again.
  const original = Object.create(ctx.request, { req: { value: { url: ctx.originalUrl } } }) as { path: string };
  return ctx.mountPath === undefined || ctx.path === original.path ? '' : ctx.mountPath.replace(/\/$/, '');
}
