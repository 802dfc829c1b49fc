import { readUserId, type Framework } from '@sluice/core/http';
import type { ExtendableContext, ParameterizedContext } from 'koa';
import { routeTemplate } from './route-template.ts';

/**
 * Reads requests and writes responses of Koa 2 and 3. Its context is both request and response.
 *
 * @param self - The limiting middleware: a request may still reach the routers behind it.
 */
export function frameworkFor(self: () => unknown): Framework<ParameterizedContext, ParameterizedContext> {
  return {
    address: (ctx) => present(ctx.ip),
    method: (ctx) => ctx.req.method ?? '',
    route: (ctx) => routeTemplate(ctx, self()),
    header: (ctx, name) => ctx.headers[name],
    user: (ctx) => readUserId((ctx.state as { user?: unknown }).user),
    rawRequest: (ctx) => ctx.req,
    locals: (ctx) => ctx,
    rawResponse: (ctx) => ctx.res,
    getHeader: (ctx, name) => ctx.res.getHeader(name),
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
}

/** Koa returns an empty string for a missing value. */
function present(value: string): string | undefined {
  return value === '' ? undefined : value;
}

/**
 * Fields other than X-Forwarded-For have a single value, set by the proxy, rather than a list that clients can start.
 */
function trustsAllAddresses({ proxy, proxyIpHeader, maxIpsCount }: ExtendableContext['app']): boolean {
  return proxy && maxIpsCount === 0 && proxyIpHeader.toLowerCase() === 'x-forwarded-for';
}
