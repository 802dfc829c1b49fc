import { fieldText, userIdOf, type Framework } from '@sluice/old-http/spi';
import type { ExtendableContext, ParameterizedContext } from 'koa';
import { routeTemplate } from './route-template.ts';

/**
 * Reads requests and writes responses of Koa 2 and 3, for those who build on this package. Its context is both request
 * and response. A `record` that is assigned here stores the decisions of every middleware in another place than
 * `ctx.state.rateLimit`.
 */
export const framework: Framework<ParameterizedContext, ParameterizedContext> = {
  address: (ctx) => present(ctx.ip),
  method: (ctx) => ctx.req.method ?? '',
  route: (ctx) => routeTemplate(ctx, undefined),
  header: (ctx, name) => present(ctx.get(name)),
  user: (ctx) => userIdOf((ctx.state as { user?: unknown }).user),
  rawRequest: (ctx) => ctx.req,
  rawResponse: (ctx) => ctx.res,
  getHeader: (ctx, name) => present(fieldText(ctx.res.getHeader(name)) ?? ''),
  // Directly, because Koa does the same with a string, only slower.
  setHeader: (ctx, name, value) => {
    ctx.res.setHeader(name, value);
  },
  removeHeader: (ctx, name) => {
    ctx.remove(name);
  },
  setStatus: (ctx, status) => {
    ctx.status = status;
  },
  send: (ctx, body) => {
    ctx.body = body;
    if (ctx.respond === false) ctx.res.end(body); // with `respond: false`, Koa does not send the response
  },
  record: (ctx, info) => {
    ctx.state.rateLimit = info;
  },
  proxyTrust: ({ app }) => trustsAllAddresses(app),
};

/**
 * The same for one middleware.
 *
 * @param self - The limiting middleware: a request may still reach the routers behind it.
 */
export function frameworkFor(self: () => unknown): Framework<ParameterizedContext, ParameterizedContext> {
  const route: typeof framework.route = (ctx) => routeTemplate(ctx, self());
  // Inherits instead of copying: a `record` that is assigned later takes effect.
  return Object.assign(Object.create(framework) as typeof framework, { route });
}

/** Koa returns an empty string for a missing value. */
function present(value: string): string | undefined {
  return value === '' ? undefined : value;
}

/** Fields other than X-Forwarded-For have one value, set by the proxy, and not a list that clients can start. */
function trustsAllAddresses({ proxy, proxyIpHeader, maxIpsCount }: ExtendableContext['app']): boolean {
  return proxy && maxIpsCount === 0 && proxyIpHeader.toLowerCase() === 'x-forwarded-for';
}
