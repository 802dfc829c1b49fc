import type { ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { describe, expect, it } from '@jest/globals';
import {
  Catch,
  Controller,
  Get,
  HttpException,
  Injectable,
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
  type NestResponse,
  type RateLimitModuleOptions,
} from '@sluice/nestjs';
import { useWarnings } from '@sluice/testkit';
import { platforms, untilTestEnds, type RootModule } from './serve.ts';

const [serve, warnings] = [untilTestEnds(), useWarnings()];
const upTo = (limit: number) => fixedWindow({ limit, window: '1h' });

@Controller()
class Pages {
  @Get('page')
  page() {
    return 'a page';
  }
}

@Controller()
class Watched extends Pages {
  /** One limit reports, and that of the module enforces. */
  @RateLimit({ policy: upTo(1), mode: 'report' })
  @Get('watched')
  watched() {
    return 'a page';
  }
}

const rootOf = (options: RateLimitModuleOptions, more: RootModule = {}): RootModule => ({
  imports: [RateLimitModule.forRoot(options)],
  controllers: [Pages],
  ...more,
});

/** Puts the user of the header where an authentication would, as late as a guard of a controller does. */
@Injectable()
class Authentication implements CanActivate {
  canActivate(context: ExecutionContext): boolean {
    const request = context.switchToHttp().getRequest<{ user?: object; headers: Record<string, string> }>();
    request.user = { sub: request.headers['x-user'] };
    return true;
  }
}

class Counting extends RateLimitGuard {
  static calls = 0;

  protected override shouldSkip(): boolean {
    Counting.calls++;
    return false;
  }
}

class Gateway {
  page() {
    return '';
  }

  @SkipRateLimit()
  free() {
    return '';
  }
}

class Skipping extends RateLimitGuard {
  protected override shouldSkip(): boolean {
    return true;
  }
}

describe.each(platforms)('the guard on %s', (platform) => {
  it('answers by itself: no filter, interceptor or handler sees a denied request', async () => {
    const seen: string[] = [];
    @Catch()
    class Filter implements ExceptionFilter {
      catch(): void {
        seen.push('filter');
      }
    }
    class Interceptor implements NestInterceptor {
      intercept(_context: ExecutionContext, next: CallHandler) {
        seen.push('interceptor');
        return next.handle();
      }
    }
    const providers = [
      { provide: APP_FILTER, useClass: Filter },
      { provide: APP_INTERCEPTOR, useClass: Interceptor },
    ];
    const { statuses } = await serve(platform, rootOf({ policy: upTo(1) }, { providers }));

    expect(await statuses('/page', '/page', '/page')).toEqual([200, 429, 429]);
    expect(seen).toEqual(['interceptor']);
  });

  it('answers in its own form after middleware has set fields for another body', async () => {
    const begin = (_request: unknown, response: ServerResponse, next: () => void): void => {
      response.setHeader('Content-Encoding', 'gzip');
      next();
    };
    const root = rootOf({ deny: ['127.0.0.1'], policy: upTo(1) });
    const { ask } = await serve(platform, root, { prepare: (app) => app.use(begin) });

    const denied = await ask('/page');

    expect(denied.headers['content-encoding']).toBeUndefined();
    expect(JSON.parse(denied.body)).toMatchObject({ status: 403 });
  });

  it('passes a denial to exception filters with throw: true, the fields on the response', async () => {
    const caught: HttpException[] = [];
    @Catch(HttpException)
    class Filter implements ExceptionFilter<HttpException> {
      catch(exception: HttpException, host: ArgumentsHost): void {
        caught.push(exception);
        host.switchToHttp().getResponse<NestResponse>().status(exception.getStatus()).send('slowly');
      }
    }
    const providers = [{ provide: APP_FILTER, useClass: Filter }];
    const { ask } = await serve(platform, rootOf({ policy: upTo(1), throw: true }, { providers }));
    await ask('/page');

    const denied = await ask('/page');

    expect([denied.status, denied.body]).toEqual([429, 'slowly']);
    expect(denied.headers['ratelimit-policy']).toBe('"default";q=1;w=3600');
    expect(denied.headers['retry-after']).toMatch(/^\d+$/);
    expect(caught[0]).toBeInstanceOf(RateLimitException);
    expect(caught[0]).toMatchObject({
      code: 'SLUICE_DENIED',
      message: 'Too many requests',
      decision: { allowed: false, policy: 'default' },
      headers: { 'RateLimit-Policy': '"default";q=1;w=3600', 'Cache-Control': 'no-store' },
    });
    expect(caught[0]?.getResponse()).toMatchObject({ title: 'Quota Exceeded', 'violated-policies': ['default'] });
  });

  it('denies with the exception that deny() throws, and Nest responds with it', async () => {
    class Denying extends RateLimitGuard {
      protected override deny(exception: RateLimitException): never {
        throw new HttpException(`in other words: ${exception.message}`, 418);
      }
    }
    const { ask } = await serve(platform, rootOf({ policy: upTo(1), throw: true, guard: Denying }));
    await ask('/page');

    const denied = await ask('/page');

    expect(denied.status).toBe(418);
    expect(JSON.parse(denied.body)).toMatchObject({ message: 'in other words: Too many requests' });
  });

  it.each<[string, RootModule, Parameters<typeof serve>[2]]>([
    ['as APP_GUARD', { providers: [{ provide: APP_GUARD, useClass: Counting }] }, {}],
    ['for each request', { providers: [{ provide: APP_GUARD, useClass: Counting, scope: Scope.REQUEST }] }, {}],
    ['by useGlobalGuards', {}, { prepare: (app) => app.useGlobalGuards(new Counting(app.get(RateLimits))) }],
  ])('does nothing if the application registers one of its own %s', async (_how, more, settings) => {
    Counting.calls = 0;
    const { statuses } = await serve(platform, rootOf({ policy: upTo(2) }, more), settings);

    expect(await statuses('/page', '/page', '/page')).toEqual([200, 200, 429]);
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
    const { statuses } = await serve(platform, rootOf({ policy: upTo(2) }, { controllers: [Guarded] }));

    expect(await statuses('/', '/', '/')).toEqual([200, 200, 429]);
  });

  it('stands behind the one that authenticates, with guard: false', async () => {
    @Controller()
    class Accounts {
      @Get('page')
      @UseGuards(Authentication, RateLimitGuard)
      @RateLimit({ policy: upTo(1), key: byUser() })
      read() {
        return '';
      }

      @Get('free')
      free() {
        return '';
      }
    }
    const { ask, statuses } = await serve(
      platform,
      rootOf({ policy: upTo(1), name: 'app', key: byUser(), guard: false }, { controllers: [Accounts] }),
    );
    const as = async (user: string) => (await ask('/page', { headers: { 'x-user': user } })).status;

    expect([await as('ann'), await as('bob'), await as('ann')]).toEqual([200, 200, 429]);
    expect(await statuses('/free', '/free')).toEqual([200, 200]);
  });

  it.each<[string, RateLimitModuleOptions['onDenied'], string]>([
    ['an object that it returns', () => ({ slow: 'down' }), '{"slow":"down"}'],
    ['a text that it promises', async () => Promise.resolve('slow down'), 'slow down'],
    ['a number that it returns', () => 42, '42'],
    ['what it sends itself, whatever it returns', (_request, response) => [response.send('sent')], 'sent'],
    ['a list that it sends', (_request, response) => response.send([1, 2]), '[1,2]'],
    [
      'what it pipes into the response of Node',
      (_request, response: NestResponse & { raw?: unknown }) =>
        Readable.from(['piped']).pipe((response.raw ?? response) as NodeJS.WritableStream),
      'piped',
    ],
  ])('answers with what onDenied says: %s', async (_what, onDenied, body) => {
    const { ask } = await serve(platform, rootOf({ policy: upTo(1), onDenied }));
    await ask('/page');

    const denied = await ask('/page');

    expect([denied.status, denied.body]).toEqual([429, body]);
  });
});

describe('canActivate()', () => {
  it.each(['page', 'watched'] as const)('returns no promise for %s, where nothing waits', async (handler) => {
    const { app } = await serve('Express', rootOf({ policy: upTo(1) }, { controllers: [Watched] }));
    const request = { method: 'GET', url: `/${handler}`, headers: {}, ip: '127.0.0.1' };
    const response = { getHeader: () => undefined, setHeader: () => undefined, once: () => undefined };
    const http = { getRequest: () => request, getResponse: () => response };
    const context = { getType: () => 'http', switchToHttp: () => http, getClass: () => Watched };
    const call = { ...context, getHandler: () => Watched.prototype[handler] };

    expect(app.get(RateLimitGuard).canActivate(call as never)).toBe(true);
  });

  it.each([
    ['lets contexts that are not HTTP pass, and warns once', RateLimitGuard, 'page', 1],
    ['warns of none that @SkipRateLimit() leaves out', RateLimitGuard, 'free', 0],
    ['warns of none that shouldSkip() leaves out', Skipping, 'page', 0],
  ] as const)('%s', async (_title, guard, handler, count) => {
    const { app } = await serve('Express', rootOf({ policy: upTo(1), guard }));
    const context = { getType: () => `${guard.name} ${handler}`, getClass: () => Gateway };
    const calls = [1, 2].map(() =>
      app.get(guard).canActivate({ ...context, getHandler: () => Gateway.prototype[handler] } as never),
    );

    expect(calls).toEqual([true, true]);
    expect(warnings()).toHaveLength(count);
  });
});
