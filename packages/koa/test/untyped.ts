// @ts-expect-error -- it has no types
import untypedCors from '@koa/cors';
import type Koa from 'koa';
import type { Middleware } from 'koa';
// @ts-expect-error -- it has no types
import untypedMount from 'koa-mount';
// @ts-expect-error -- it has no types
import untypedPeer from 'koa-ratelimit';

/** `@koa/cors`. */
export const cors = untypedCors as (options: { exposeHeaders: string }) => Middleware;
/** `koa-mount`: takes its path off the request's for whatever stands below. */
export const mount = untypedMount as (path: string, below: Koa | Middleware) => Middleware;
/** `koa-ratelimit`, with the options that these tests use. */
export const peer = untypedPeer as (options: {
  readonly driver: 'memory';
  readonly db: Map<string, unknown>;
  readonly max: number;
  readonly duration: number;
}) => Middleware;
