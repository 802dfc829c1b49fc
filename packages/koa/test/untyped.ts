// @ts-expect-error -- it has no types
import untypedCors from '@koa/cors';
import type Koa from 'koa';
import type { Middleware } from 'koa';
// @ts-expect-error -- it has no types
import untypedMount from 'koa-mount';

/** `@koa/cors`. */
export const cors = untypedCors as (options: { exposeHeaders: string }) => Middleware;
/** `koa-mount`: takes its path off the request's for whatever stands below. */
export const mount = untypedMount as (path: string, below: Koa | Middleware) => Middleware;
