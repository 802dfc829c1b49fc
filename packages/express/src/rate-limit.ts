import {
  RateLimitError,
  createEnforcer,
  methodDecorator,
  type Enforcement,
  type Enforcer,
  type MethodDecorator,
  type RateLimitInfo,
  type RateLimitOptions as NeutralOptions,
} from '@sluice/core/http';
import type { NextFunction, Request, Response } from 'express';
import { reader } from './reader.ts';

/** The options of {@link rateLimit}: see the README for the table. */
export type RateLimitOptions = NeutralOptions<Request, Response>;

/** Middleware that leaves the parameters of the route it stands in typed as they are. */
export type RateLimitHandler = <Params, Body, Sent, Query, Locals extends Record<string, unknown>>(
  request: Request<Params, Body, Sent, Query, Locals>,
  response: Response<Body, Locals>,
  next: NextFunction,
) => void;

declare global {
  // eslint-disable-next-line @typescript-eslint/no-namespace -- Express types its request through this namespace
  namespace Express {
    interface Request {
      /** The key and the decision, once a limiter has seen the request. */
      rateLimit?: RateLimitInfo;
    }
  }
}

/**
 * Express middleware. A request over the limit is answered with 429; a store failure follows `onStoreError`.
 *
 * @example
 * ```ts
 * app.use(rateLimit({ limit: 100, window: '1m' }));
 * ```
 *
 * @throws PolicyError for bad or unknown options, naming the field, what was expected and what came.
 */
export function rateLimit(options: RateLimitOptions): RateLimitHandler {
  const enforcer = createEnforcer(options, reader);
  return (request, response, next) => {
    handle(enforcer, options, request as unknown as Request, response as unknown as Response).then(
      (passes) => {
        if (passes) next();
      },
      (error: unknown) => {
        next(asError(error));
      },
    );
  };
}

/**
 * Limits a handler method `(request, response, next)` of a class, under the limiter name `<Class>.<method>` unless the
 * options say another. Works as a standard decorator and under `experimentalDecorators`.
 *
 * @throws PolicyError for bad or unknown options, when the class is defined.
 */
export function RateLimit(options: RateLimitOptions): MethodDecorator {
  return methodDecorator(
    () => {
      // Checked on a store of its own, so that the name on the real one is still free below.
      createEnforcer({ ...options, store: undefined }, reader);
    },
    (method, place) => {
      const enforcer = createEnforcer({ ...options, name: options.name ?? place }, reader);
      return async function (this: unknown, ...args: never[]): Promise<unknown> {
        const [request, response, next] = args as unknown as [Request, Response, NextFunction | undefined];
        try {
          return (await handle(enforcer, options, request, response)) ? await method.apply(this, args) : undefined;
        } catch (error) {
          if (next === undefined) throw error;
          next(asError(error)); // Express 4 would wait for ever
          return undefined;
        }
      };
    },
  );
}

/** What is no object could tell Express something else: `undefined` to go on, `'route'` to pass over the handler. */
function asError(thrown: unknown): object {
  return typeof thrown === 'object' && thrown !== null
    ? thrown
    : new Error(`not an error was thrown: ${String(thrown)}`);
}

/** Asks, writes the header fields, and answers a refused request. Resolves to whether the request goes on. */
async function handle(
  enforcer: Enforcer<Request>,
  options: RateLimitOptions,
  request: Request,
  response: Response,
): Promise<boolean> {
  const { fields, info, refusal }: Enforcement = await enforcer.enforce(request);
  if (info !== undefined) request.rateLimit = info;
  if (response.writableEnded) return false; // answered while the store was asked
  const written = (name: string): string => [response.getHeader(name)].flat().join(', ');
  if (response.headersSent) {
    if (refusal === undefined) return true; // a stream that began before: only the fields come too late
    throw new RateLimitError(refusal, info?.decision, fields, written);
  }
  for (const { name, value, append } of fields) {
    if (append) response.append(name, value);
    else response.setHeader(name, value);
  }
  if (refusal === undefined) return true;
  for (const { name, value } of refusal.fields) response.setHeader(name, value);
  if (options.throw === true) {
    throw new RateLimitError(refusal, info?.decision, fields, written);
  }
  response.statusCode = refusal.status;
  if (info !== undefined && options.onDenied !== undefined) {
    await options.onDenied(request, response, info.decision);
    return false;
  }
  response.setHeader('Content-Type', refusal.contentType);
  response.end(refusal.body);
  return false;
}
