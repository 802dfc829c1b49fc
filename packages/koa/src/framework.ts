import { fieldText, userIdOf, type Framework } from '@sluice/core/http';
import type { ExtendableContext, ParameterizedContext } from 'koa';
import { routeTemplate } from './route-template.ts';

/**
 * How Koa 2 and 3 are read and answered: request and response are both its context.
 *
 * @param self - The middleware that asks: the routers behind it are those that a request may still reach.
 */
export function frameworkFor(self: () => unknown): Framework<ParameterizedContext, ParameterizedContext> {
  return {
    address: (ctx) => present(ctx.ip),
    method: (ctx) => ctx.req.method ?? '',
    route: (ctx) => routeTemplate(ctx, self()),
    header: (ctx, name) => present(ctx.get(name)),
    user: (ctx) => userIdOf((ctx.state as { user?: unknown }).user),
    rawRequest: (ctx) => ctx.req,
    rawResponse: (ctx) => ctx.res,
    getHeader: (ctx, name) => present(fieldText(ctx.res.getHeader(name)) ?? ''),
    // Past Koa, which does no more than this with a text.
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
      if (ctx.respond === false) ctx.res.end(body); // Koa was told to leave the answer alone, and would never send it
    },
    record: (ctx, info) => {
      ctx.state.rateLimit = info;
    },
    proxyTrust: ({ app }) => trustsEveryone(app),
  };
}

/** Koa answers an empty text for what is not there. */
function present(value: string): string | undefined {
  return value === '' ? undefined : value;
}

/** Another field than this one is set by the proxy alone: it has one value, not a list that clients can begin. */
function trustsEveryone({ proxy, proxyIpHeader, maxIpsCount }: ExtendableContext['app']): boolean {
  return proxy && maxIpsCount === 0 && proxyIpHeader.toLowerCase() === 'x-forwarded-for';
}
