/* eslint-disable @typescript-eslint/no-extraneous-class -- modules of Nest are empty */
import type { ServerResponse } from 'node:http';
import { setImmediate } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import {
  Catch,
  Controller,
  Get,
  HttpException,
  Injectable,
  Module,
  Scope,
  UseGuards,
  type ArgumentsHost,
  type CallHandler,
  type CanActivate,
  type ExceptionFilter,
  type ExecutionContext,
  type NestInterceptor,
} from '@nestjs/common';
import { APP_FILTER, APP_GUARD, APP_INTERCEPTOR } from '@nestjs/core';
import {
  RateLimit,
  RateLimitException,
  RateLimitGuard,
  RateLimitModule,
  RateLimits,
  SkipRateLimit,
  byUser,
  fixedWindow,
} from '@sluice/nestjs';
import { platforms, untilTestEnds } from './serve.ts';

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

const upTo = (limit: number) => fixedWindow({ limit, window: '1h' });

@Controller()
class Pages {
  @Get('page')
  page() {
    return 'a page';
  }

  @Get('tight')
  @RateLimit({ policy: upTo(1) })
  tight() {
    return '';
  }
}

/** Puts the user of the header where an authentication would, as late as a guard of a controller does. */
@Injectable()
class Authentication implements CanActivate {
  canActivate(context: ExecutionContext): boolean {
    const request = context.switchToHttp().getRequest<{ user?: object; headers: Record<string, string> }>();
    request.user = { sub: request.headers['x-user'] };
    return true;
  }
}

describe.each(platforms)('the guard on %s', (platform) => {
  const serve = untilTestEnds();

  it('answers for itself: no filter, interceptor or handler hears of a denied request', async () => {
    const heard: string[] = [];
    @Catch()
    class Filter implements ExceptionFilter {
      catch(): void {
        heard.push('filter');
      }
    }
    class Interceptor implements NestInterceptor {
      intercept(_context: ExecutionContext, next: CallHandler) {
        heard.push('interceptor');
        return next.handle();
      }
    }
    const { statuses } = await serve(platform, {
      imports: [RateLimitModule.forRoot({ policy: upTo(1) })],
      controllers: [Pages],
      providers: [
        { provide: APP_FILTER, useClass: Filter },
        { provide: APP_INTERCEPTOR, useClass: Interceptor },
      ],
    });

    const answers = await statuses('/page', 3);

    expect(answers).toEqual([200, 429, 429]);
    expect(heard).toEqual(['interceptor']);
  });

  it('is forgotten together with the requests that it has denied', async () => {
    const seen: WeakRef<object>[] = [];
    const { statuses } = await serve(platform, {
      imports: [
        RateLimitModule.forRoot({
          policy: upTo(1),
          skip: (request) => {
            seen.push(new WeakRef(request));
            return false;
          },
        }),
      ],
      controllers: [Pages],
    });

    const answers = await statuses('/page', 100);
    await setImmediate(); // a WeakRef holds what it was made of until the turn ends
    collectGarbage();

    expect(answers.filter((status) => status === 429)).toHaveLength(99);
    // Node keeps those of connections that are still open.
    expect(seen.filter((request) => request.deref() !== undefined).length).toBeLessThan(20);
  });

  it('answers in its own form where middleware has begun the answer in another', async () => {
    const begin = (_request: unknown, response: ServerResponse, next: () => void): void => {
      response.setHeader('Content-Encoding', 'gzip');
      next();
    };
    const { fetch } = await serve(
      platform,
      { imports: [RateLimitModule.forRoot({ deny: ['127.0.0.1'], policy: upTo(1) })], controllers: [Pages] },
      { prepare: (app) => app.use(begin) },
    );

    const denied = await fetch('/page');

    expect(denied.headers.get('content-encoding')).toBeNull();
    expect(await denied.json()).toMatchObject({ status: 403 });
  });

  it('hands a denial to exception filters with throw: true, fields on the answer', async () => {
    const caught: HttpException[] = [];
    @Catch(HttpException)
    class Filter implements ExceptionFilter<HttpException> {
      catch(exception: HttpException, host: ArgumentsHost): void {
        caught.push(exception);
        const response = host.switchToHttp().getResponse<{ status(code: number): { send(body: string): void } }>();
        response.status(exception.getStatus()).send('slowly');
      }
    }
    const { fetch } = await serve(platform, {
      imports: [RateLimitModule.forRoot({ policy: upTo(1), throw: true })],
      controllers: [Pages],
      providers: [{ provide: APP_FILTER, useClass: Filter }],
    });
    await fetch('/page');

    const denied = await fetch('/page');

    expect(denied.status).toBe(429);
    expect(await denied.text()).toBe('slowly');
    expect(denied.headers.get('ratelimit-policy')).toBe('"default";q=1;w=3600');
    expect(denied.headers.get('retry-after')).toMatch(/^\d+$/);
    expect(caught[0]).toBeInstanceOf(RateLimitException);
    expect(caught[0]).toMatchObject({
      code: 'SLUICE_DENIED',
      message: 'Too many requests',
      decision: { allowed: false, policy: 'default' },
      headers: { 'RateLimit-Policy': '"default";q=1;w=3600', 'Cache-Control': 'no-store' },
    });
    expect(caught[0]?.getResponse()).toMatchObject({ title: 'Quota Exceeded', 'violated-policies': ['default'] });
  });

  it('lets Nest answer with the problem details where no filter catches what throw: true throws', async () => {
    const { fetch } = await serve(platform, {
      imports: [RateLimitModule.forRoot({ policy: upTo(1), throw: true })],
      controllers: [Pages],
    });
    await fetch('/page');

    const denied = await fetch('/page');

    expect(denied.status).toBe(429);
    expect(await denied.json()).toMatchObject({ status: 429, 'violated-policies': ['default'] });
  });

  it('denies with the exception that deny() makes, with throw: true', async () => {
    class Denying extends RateLimitGuard {
      protected override deny(exception: RateLimitException): never {
        throw new HttpException(`in other words: ${exception.message}`, 418);
      }
    }
    const { fetch } = await serve(platform, {
      imports: [RateLimitModule.forRoot({ policy: upTo(1), throw: true })],
      controllers: [Pages],
      providers: [{ provide: APP_GUARD, useClass: Denying }],
    });
    await fetch('/page');

    const denied = await fetch('/page');

    expect(denied.status).toBe(418);
    expect(await denied.json()).toMatchObject({ message: 'in other words: Too many requests' });
  });

  it.each<[string, () => Parameters<typeof serve>[1], Parameters<typeof serve>[2]]>([
    ['as APP_GUARD', () => ({ providers: [{ provide: APP_GUARD, useClass: Counting }] }), {}],
    [
      'as APP_GUARD for each request',
      () => ({ providers: [{ provide: APP_GUARD, useClass: Counting, scope: Scope.REQUEST }] }),
      {},
    ],
    ['by useGlobalGuards', () => ({}), { prepare: (app) => app.useGlobalGuards(new Counting(app.get(RateLimits))) }],
  ])('steps aside where the application registers one of its own %s', async (_how, own, settings) => {
    Counting.calls = 0;
    const { statuses } = await serve(
      platform,
      {
        imports: [RateLimitModule.forRoot({ policy: upTo(2) })],
        controllers: [Pages],
        ...own(),
      },
      settings,
    );

    const answers = await statuses('/page', 3);

    expect(answers).toEqual([200, 200, 429]);
    expect(Counting.calls).toBe(3);
  });

  it('counts once beside itself', async () => {
    @Controller()
    @UseGuards(RateLimitGuard)
    class Guarded {
      @Get()
      @UseGuards(RateLimitGuard)
      page() {
        return '';
      }
    }
    const { statuses } = await serve(platform, {
      imports: [RateLimitModule.forRoot({ policy: upTo(2) })],
      controllers: [Guarded],
    });

    expect(await statuses('/', 3)).toEqual([200, 200, 429]);
  });

  it('comes after a global one that authenticates: of the root module, or of one imported before', async () => {
    const authentication = { provide: APP_GUARD, useClass: Authentication };
    class Users {}
    Module({ providers: [authentication] })(Users);
    const limits = () => RateLimitModule.forRoot({ policy: upTo(1), key: byUser() });
    const asAnnTwice = async ({ fetch }: Awaited<ReturnType<typeof serve>>) => {
      const ask = () => fetch('/page', { headers: { 'x-user': 'ann' } });
      return [(await ask()).status, (await ask()).status];
    };

    const ofRoot = await serve(platform, { imports: [limits()], controllers: [Pages], providers: [authentication] });
    const before = await serve(platform, { imports: [Users, limits()], controllers: [Pages] });

    expect(await asAnnTwice(ofRoot)).toEqual([200, 429]);
    expect(await asAnnTwice(before)).toEqual([200, 429]);
  });

  it('stands behind the one that authenticates, with guard: false', async () => {
    @Controller()
    @UseGuards(Authentication, RateLimitGuard)
    class Accounts {
      @Get()
      @RateLimit({ policy: upTo(1), key: byUser() })
      read() {
        return '';
      }
    }
    const { fetch } = await serve(platform, {
      imports: [RateLimitModule.forRoot({ guard: false })],
      controllers: [Accounts],
    });
    const as = async (user: string) => (await fetch('/', { headers: { 'x-user': user } })).status;

    expect([await as('ann'), await as('bob'), await as('ann')]).toEqual([200, 200, 429]);
  });

  it('gives the units of failed answers back, with the status that the handler has set', async () => {
    @Controller()
    class Login {
      calls = 0;

      @Get()
      @RateLimit({ policy: upTo(1), refund: 'on-failure' })
      login() {
        this.calls++;
        if (this.calls < 3) throw new HttpException('wrong', 401);
        return '';
      }
    }
    const { statuses } = await serve(platform, { imports: [RateLimitModule.forRoot()], controllers: [Login] });

    expect(await statuses('/', 4)).toEqual([401, 401, 200, 429]);
  });
});

describe('the guard', () => {
  const serve = untilTestEnds();

  it('warns of an application that believes every client', async () => {
    const warn = jest.spyOn(process, 'emitWarning').mockImplementation(() => undefined);
    const limits = RateLimitModule.forRoot({ policy: upTo(2) });
    const { statuses } = await serve(
      'Fastify',
      { imports: [limits], controllers: [Pages] },
      { trustAllAddresses: true },
    );

    await statuses('/page', 1);

    expect(warn).toHaveBeenCalledWith(
      expect.stringContaining('trusts every proxy'),
      expect.objectContaining({ code: 'SLUICE_PROXY_TRUSTS_ALL' }),
    );
    warn.mockRestore();
  });
});

class Counting extends RateLimitGuard {
  static calls = 0;

  protected override shouldSkip(): boolean {
    Counting.calls++;
    return false;
  }
}

describe('the guard in contexts that are not HTTP', () => {
  const serve = untilTestEnds();

  class Gateway {
    @RateLimit({ policy: upTo(1) })
    say() {
      return '';
    }

    @SkipRateLimit()
    hear() {
      return '';
    }
  }

  const contextOf = (type: string, handler: () => string): ExecutionContext =>
    ({ getType: () => type, getClass: () => Gateway, getHandler: () => handler }) as unknown as ExecutionContext;

  const passesOf = async (Guard: typeof RateLimitGuard, type: string, handler: () => string): Promise<unknown[]> => {
    const { app } = await serve('Express', {
      imports: [RateLimitModule.forRoot({ policy: upTo(1) })],
      providers: [Guard, Gateway],
    });
    const guard = app.get(Guard);
    const passes = [];
    for (let i = 0; i < 3; i++) passes.push(await guard.canActivate(contextOf(type, handler)));
    return passes;
  };

  let warn: jest.SpiedFunction<typeof process.emitWarning>;
  beforeEach(() => {
    warn = jest.spyOn(process, 'emitWarning').mockImplementation(() => undefined);
  });
  afterEach(() => {
    warn.mockRestore();
  });

  it('lets everything pass, and warns of it once', async () => {
    expect(await passesOf(RateLimitGuard, 'graphql', Gateway.prototype.say)).toEqual([true, true, true]);
    expect(warn).toHaveBeenCalledTimes(1);
    expect(warn).toHaveBeenCalledWith(
      expect.stringContaining('createLimiter'),
      expect.objectContaining({ code: 'SLUICE_CONTEXT_UNKNOWN' }),
    );
  });

  it('warns of nothing where @SkipRateLimit() or shouldSkip leaves them out', async () => {
    class OnlyHttp extends RateLimitGuard {
      protected override shouldSkip(context: ExecutionContext): boolean {
        return context.getType() !== 'http';
      }
    }

    expect(await passesOf(OnlyHttp, 'rmq', Gateway.prototype.say)).toEqual([true, true, true]);
    expect(await passesOf(RateLimitGuard, 'ws', Gateway.prototype.hear)).toEqual([true, true, true]);
    expect(warn).not.toHaveBeenCalled();
  });
});
