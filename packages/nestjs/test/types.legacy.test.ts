import type { IncomingMessage, ServerResponse } from 'node:http';
import { describe, expect, it } from '@jest/globals';
import { Controller, Get, Injectable, Req, type ExecutionContext } from '@nestjs/common';
import {
  CurrentRateLimit,
  RateLimit,
  type RateLimitException,
  RateLimitGuard,
  RateLimitModule,
  SkipRateLimit,
  byAll,
  byHeader,
  byIp,
  byMethod,
  byRoute,
  byUser,
  createLimiter,
  fixedWindow,
  memoryStore,
  type Decision,
  type KeyByLimit,
  type Limiter,
  type NestRequest,
  type NestResponse,
  type RateLimitInfo,
  type RateLimitOptions,
  type RateLimitOptionsFactory,
  type RateLimitScopeOptions,
  type RateLimits,
} from '@sluice/nestjs';
import type { FastifyAdapter } from '@nestjs/platform-fastify';

// What this file says is checked by the compiler: it must compile, and what is marked must not.

type FastifyRequest = Parameters<FastifyAdapter['getRequestMethod']>[0];
type FastifyReply = Extract<Parameters<FastifyAdapter['isHeadersSent']>[0], { code: unknown }>;

/** Of Express's types, what the tests need: they build on this namespace. */
interface Request extends Express.Request, IncomingMessage {
  readonly ip: string | undefined;
  method: string;
  url: string;
  get(name: string): string | undefined;
}
interface Response extends ServerResponse {
  status(code: number): this;
  header(name: string, value: string): this;
  send(body: unknown): this;
  json(body: unknown): this;
}

/** As an application declares what it leaves on its requests, for every function. */
declare module '@sluice/nestjs' {
  interface NestRequest {
    readonly tenant?: string;
  }
}

/** And for one. */
interface Authenticated extends Request {
  readonly account?: { readonly id: string; readonly plan: 'free' | 'paid' };
}
interface Configuration {
  get(name: string): number;
}

const policy = fixedWindow({ limit: 5, window: '1m' });
const plans = {
  free: fixedWindow({ name: 'free', limit: 5, window: '1m' }),
  paid: fixedWindow({ name: 'paid', limit: 50, window: '1m' }),
};

/** Keeps the compiler from asking what they are for. */
function unused(..._values: readonly unknown[]): void {}

/* eslint-disable @typescript-eslint/no-unsafe-return, @typescript-eslint/no-unsafe-call -- what must not compile has no type */
/** Never called: the compiler reads it. */
export function options(): void {
  RateLimit({ limit: 100, window: '1m' });
  RateLimit({ policy, key: [byIp({ ipv6Prefix: 56 }), byRoute(), byMethod(), byHeader('x-key'), byAll()] });
  RateLimit({ limiter: createLimiter({ policy }) });

  // Requests are typed in every function, alone and in lists, by what both platforms have.
  RateLimit({ policy, key: byUser((request) => request.user?.id) });
  RateLimit({ policy, key: [byIp(), byUser((request) => request.headers['x-user']?.toString())] });
  RateLimit({ policy, key: (request) => request.ip });
  RateLimit({ policy, key: [byUser((request) => request.tenant), byRoute()] });
  RateLimit({ policy: (request) => plans[request.headers['x-plan'] === 'paid' ? 'paid' : 'free'] });
  RateLimit({ policy, skip: (request) => request.url === '/health', cost: (request) => request.url.length });
  RateLimit({
    limits: [
      { name: 'per-ip', policy, key: byIp() },
      { name: 'per-user', policy, key: byUser((request) => request.user?.sub), cost: (request) => request.url.length },
    ],
  });
  RateLimit({
    policy,
    refund: (request, response) => request.method === 'GET' && response.statusCode < 300,
    onDenied: (request, response, decision) => {
      response.status(503);
      response.header('x-asked', request.method);
      response.send(decision.policy);
    },
    onDecision: (decision, { key, request }) => {
      unused(decision.allowed, key, request.url);
    },
  });

  RateLimit({ policy, onDenied: (_request, response) => response.status(429).send({ slow: true }) });
  RateLimit({ policy, onDenied: (_request, response) => response.header('x-why', 'limit').send(['slow']) });
  RateLimit({ policy, onDenied: (_request, _response, decision) => ({ slow: decision.policy }) });
  RateLimitModule.forRoot({ policy, onDenied: (_request, response) => response.status(429).send({ slow: true }) });

  // All that a platform has, by its name or by that of a parameter.
  RateLimit<Request>({ policy, key: [byIp(), byUser((request) => request.get('x-user'))] });
  RateLimit<Authenticated, Response>({
    policy: (request) => plans[request.account?.plan ?? 'free'],
    onDenied: (_request, response) => response.json({}),
  });
  RateLimit<FastifyRequest, FastifyReply>({
    policy,
    key: (request) => request.routeOptions.url,
    onDenied: (_request, reply) => reply.code(503).send({}),
  });
  RateLimit({ policy, key: (request: Authenticated) => request.account?.id });
  RateLimitModule.forRoot<FastifyRequest>({ policy, key: byUser((request) => request.hostname) });

  // @ts-expect-error -- limits that are not there
  RateLimit({});
  // @ts-expect-error -- two ways to say it
  RateLimit({ policy, limit: 5, window: '1m' });
  // @ts-expect-error -- a key beside limits
  RateLimit({ limits: [], key: byIp() });
  // @ts-expect-error -- no option of the module
  RateLimitModule.forRoot({ policy, routes: true });
  // @ts-expect-error -- what only Express has
  RateLimit({ policy, key: (request) => request.get('x-user') });
  // @ts-expect-error -- a number for a name
  SkipRateLimit(5);
}

/** Never called: the compiler reads it. */
export function modules(): void {
  RateLimitModule.forRoot();
  RateLimitModule.forRoot({ store: memoryStore(), headers: 'draft-7' });
  RateLimitModule.forRoot({ policy, guard: false });
  RateLimitModule.forRoot({ policy, guard: RateLimitGuard });
  RateLimitModule.forRoot({
    policy,
    key: byUser((request) => request.user?.id),
    skip: (request) => request.url === '/',
  });
  RateLimitModule.forRootAsync({
    inject: ['configuration'],
    useFactory: (configuration: Configuration) => ({ limit: configuration.get('limit'), window: '1m' }),
  });
  RateLimitModule.forRootAsync({
    // eslint-disable-next-line @typescript-eslint/require-await -- as one that reads something has it
    useFactory: async () => ({ policy, key: byUser((request: NestRequest) => request.user?.id) }),
    guard: false,
  });
  RateLimitModule.forRootAsync({ useClass: Factory });
  RateLimitModule.forRootAsync({ useExisting: Factory });
  // @ts-expect-error -- a class that is no guard
  RateLimitModule.forRoot({ policy, guard: Factory });
  // @ts-expect-error -- what are no options
  RateLimitModule.forRootAsync({ useFactory: () => 5 });
}
/* eslint-enable @typescript-eslint/no-unsafe-return, @typescript-eslint/no-unsafe-call */

@Injectable()
class Factory implements RateLimitOptionsFactory {
  createRateLimitOptions(): RateLimitScopeOptions {
    return { limit: 5, window: '1m', key: byUser((request) => request.user?.id) };
  }
}

/** What both platforms have, by its name. */
export function replies(express: Response, fastify: FastifyReply): readonly NestResponse[] {
  return [express, fastify];
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

@Controller()
@RateLimit({ policy })
@SkipRateLimit('default')
export class Orders {
  @Get()
  @RateLimit({ policy })
  @SkipRateLimit()
  list(@Req() request: Request, @CurrentRateLimit() limit: RateLimitInfo | undefined): Decision | undefined {
    const info: RateLimitInfo | undefined = request.rateLimit;
    return limit?.decision ?? info?.decision;
  }
}

/** Never called: the compiler reads it. */
export async function limiters(limits: RateLimits, request: FastifyRequest): Promise<void> {
  const login: Limiter = limits.limiter('login');
  await login.reset(await limits.keyFor('login', request));
  const several = limits.limiter<KeyByLimit>('several');
  await several.reset(await limits.keyFor<KeyByLimit>('several', request));
}

export const named: RateLimitOptions = { policy, onDenied: (_request, response) => response.send('') };

describe('the types', () => {
  it('are what this file says they are', () => {
    expect(Orders).toBeDefined();
  });
});
