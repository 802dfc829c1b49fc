import { Injectable, type ExecutionContext } from '@nestjs/common';
import type { FastifyAdapter } from '@nestjs/platform-fastify';
import {
  RateLimit,
  RateLimitGuard,
  RateLimitModule,
  byIp,
  byRoute,
  byUser,
  fixedWindow,
  type KeyByLimit,
  type NestRequest,
  type NestResponse,
  type RateLimitException,
  type RateLimitOptionsFactory,
  type RateLimitScopeOptions,
  type RateLimits,
} from '@sluice/nestjs';
import type { Request, Response } from 'express';

// What this file says is checked by the compiler: it must compile, and what is marked must not.

type FastifyRequest = Parameters<FastifyAdapter['getRequestMethod']>[0];
type FastifyReply = Extract<Parameters<FastifyAdapter['isHeadersSent']>[0], { code: unknown }>;

/** As an application declares what it leaves on its requests. */
declare module '@sluice/nestjs' {
  interface NestRequest {
    readonly tenant?: string;
  }
}

const policy = fixedWindow({ limit: 5, window: '1m' });

/** Never called. */
export function options(): void {
  RateLimit({
    policy: () => policy,
    key: [byIp(), byUser(({ user }) => user?.id), byUser(({ tenant }) => tenant), byRoute()],
  });
  RateLimit({
    limits: [{ name: 'user', policy, key: byUser((request) => request.user?.sub), cost: ({ url }) => url.length }],
  });
  RateLimit({ policy, onDenied: (_request, _response, decision) => ({ slow: decision.policy }) });
  // All that a platform has, by its name or by that of a parameter.
  RateLimit<Request, Response>({
    policy,
    key: (request) => request.get('x-account'),
    onDenied: (_request, response) => response.json({}),
  });
  RateLimit<FastifyRequest, FastifyReply>({ policy, key: (request) => request.routeOptions.url });
  // @ts-expect-error -- limits that are not there
  RateLimit({});
  // @ts-expect-error -- what only Fastify has
  RateLimit({ policy, key: (request) => String(request.routeOptions) });
}

/** Never called. */
export function modules(): void {
  RateLimitModule.forRoot({ headers: 'draft-7', guard: OwnGuard, skip: (request) => request.url === '/' });
  RateLimitModule.forRoot<FastifyRequest>({ policy, key: byUser((request) => request.hostname) });
  RateLimitModule.forRootAsync({
    inject: ['limit'],
    useFactory: (limit: number) => Promise.resolve({ limit, window: '1m', key: byUser(({ ip }: NestRequest) => ip) }),
  });
  RateLimitModule.forRootAsync({ useClass: Factory, guard: false });
  // @ts-expect-error -- no option of the module
  RateLimitModule.forRoot({ policy, routes: true });
  // @ts-expect-error -- a class that is no guard
  RateLimitModule.forRoot({ policy, guard: Factory });
}

@Injectable()
class Factory implements RateLimitOptionsFactory {
  createRateLimitOptions(): RateLimitScopeOptions {
    return { limit: 5, window: '1m', key: byUser((request) => request.user?.id) };
  }
}

/** As an application denies and skips in its own way. */
export class OwnGuard extends RateLimitGuard {
  protected override shouldSkip(context: ExecutionContext): boolean {
    return context.getType() !== 'http';
  }

  protected override deny(exception: RateLimitException): never {
    throw new Error(exception.decision?.policy, { cause: exception });
  }
}

/** What both platforms have, by its name. */
export function replies(express: Response, fastify: FastifyReply): readonly NestResponse[] {
  return [express, fastify];
}

/** Never called. */
export async function limiters(limits: RateLimits, request: FastifyRequest): Promise<void> {
  const several = limits.limiter<KeyByLimit>('several');
  await several.reset(await limits.keyFor<KeyByLimit>('several', request));
}
