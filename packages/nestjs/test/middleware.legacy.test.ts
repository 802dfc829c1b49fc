import { describe, expect, it, jest } from '@jest/globals';
import {
  Catch,
  Controller,
  Get,
  Injectable,
  Req,
  UnauthorizedException,
  type ArgumentsHost,
  type CanActivate,
  type ExceptionFilter,
  type ExecutionContext,
} from '@nestjs/common';
import { APP_FILTER, APP_GUARD } from '@nestjs/core';
import {
  CurrentRateLimit,
  RateLimit,
  RateLimitException,
  RateLimitMiddleware,
  RateLimitModule,
  byIp,
  byRoute,
  byUser,
  fixedWindow,
  type NestRequest,
  type RateLimitInfo,
  type RateLimitModuleOptions,
} from '@sluice/nestjs';
import { platforms, untilTestEnds, type RootModule } from './serve.ts';

const upTo = (limit: number) => fixedWindow({ limit, window: '1h' });

@Controller()
class Pages {
  @Get('page')
  page(@Req() request: NestRequest, @CurrentRateLimit() limit: RateLimitInfo | undefined) {
    return [request.rateLimit?.decision.remaining, limit?.decision.policy];
  }

  @Get('tight')
  @RateLimit({ policy: upTo(1) })
  tight() {
    return '';
  }

  @Get('health')
  health() {
    return '';
  }
}

const rootOf = (options: RateLimitModuleOptions, more: RootModule = {}): RootModule => ({
  imports: [RateLimitModule.forRoot(options)],
  controllers: [Pages],
  configure: (consumer) => consumer.apply(RateLimitMiddleware).exclude('health').forRoutes('{*path}'),
  ...more,
});

describe.each(platforms)('RateLimitMiddleware on %s', (platform) => {
  const serve = untilTestEnds();

  it('limits what guards never see, in one budget with what they see', async () => {
    const { fetch, statuses } = await serve(platform, rootOf({ policy: upTo(3) }));

    const answers = [...(await statuses('/nowhere', 1)), (await fetch('/page', { method: 'OPTIONS' })).status];
    const page = await fetch('/page');

    expect(answers).toEqual([404, 404]);
    expect(page.headers.get('ratelimit')).toMatch(/^"default";r=0;t=\d+$/);
    expect(await statuses('/nowhere', 1)).toEqual([429]);
    expect((await fetch('/page', { method: 'OPTIONS' })).status).toBe(429);
    expect(await statuses('/page', 1)).toEqual([429]);
  });

  it('leaves the limits of classes and methods to the guard, which adds their fields to its own', async () => {
    const { fetch, statuses } = await serve(platform, rootOf({ policy: upTo(9) }));

    const answer = await fetch('/tight');

    expect(answer.headers.get('ratelimit-policy')).toBe('"default";q=9;w=3600, "Pages.tight";q=1;w=3600');
    expect(answer.headers.get('ratelimit')).toMatch(/^"default";r=8;t=\d+, "Pages.tight";r=0;t=\d+$/);
    expect(await statuses('/tight', 1)).toEqual([429]);
  });

  it('stands ahead of a global authentication, which stands ahead of the limits of handlers', async () => {
    @Injectable()
    class Authentication implements CanActivate {
      canActivate(context: ExecutionContext): boolean {
        const request = context.switchToHttp().getRequest<{ user?: object; headers: Record<string, string> }>();
        const id = request.headers['x-user'];
        if (id === undefined) throw new UnauthorizedException();
        request.user = { id };
        return true;
      }
    }
    @Controller()
    class Accounts {
      @Get('account')
      @RateLimit({ policy: upTo(1), key: byUser() })
      read() {
        return '';
      }
    }
    const { fetch, statuses } = await serve(
      platform,
      rootOf(
        { policy: upTo(5) },
        { controllers: [Accounts], providers: [{ provide: APP_GUARD, useClass: Authentication }] },
      ),
    );
    const as = async (user: string) => (await fetch('/account', { headers: { 'x-user': user } })).status;

    const known = [await as('ann'), await as('ann'), await as('bob')];
    const unknown = await statuses('/account', 3);

    expect(known).toEqual([200, 429, 200]);
    expect(unknown).toEqual([401, 401, 429]);
  });

  it('leaves its decision on the request for handlers', async () => {
    const { fetch } = await serve(platform, rootOf({ policy: upTo(9) }));

    const answer = await fetch('/page');

    expect(await answer.json()).toEqual([8, 'default']);
  });

  it('leaves out what the application excludes', async () => {
    const { statuses } = await serve(platform, rootOf({ policy: upTo(1), guard: false }));

    expect(await statuses('/health', 2)).toEqual([200, 200]);
    expect(await statuses('/page', 2)).toEqual([200, 429]);
  });

  it('stands ahead of body parsers and outside of a global prefix with app.use', async () => {
    const { fetch, statuses } = await serve(
      platform,
      { imports: [RateLimitModule.forRoot({ policy: upTo(2) })], controllers: [Pages] },
      {
        prepare: (app) => {
          app.setGlobalPrefix('api');
          const middleware = app.get(RateLimitMiddleware);
          app.use(middleware.use.bind(middleware));
        },
      },
    );
    const broken = { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{' };

    expect((await fetch('/api/page', broken)).status).not.toBe(429);
    expect(await statuses('/api/page', 1)).toEqual([200]);
    expect(await statuses('/outside', 1)).toEqual([429]);
    expect((await fetch('/api/page', broken)).status).toBe(429);
  });

  it('passes everything where the module has no limit', async () => {
    const { statuses } = await serve(platform, rootOf({}));

    expect(await statuses('/page', 2)).toEqual([200, 200]);
  });

  it('lets onDenied answer on the same kind of response that it has in guards', async () => {
    const { fetch } = await serve(
      platform,
      rootOf({
        policy: upTo(1),
        onDenied: (request, response, decision) => {
          response.status(503);
          response.header('x-asked', request.method);
          response.send(
            `${String(response.statusCode)} ${decision.policy} ${String(response.getHeader('retry-after'))}`,
          );
        },
      }),
    );
    await fetch('/page');

    const byMiddleware = await fetch('/page');

    expect(byMiddleware.status).toBe(503);
    expect(byMiddleware.headers.get('x-asked')).toBe('GET');
    expect(await byMiddleware.text()).toBe('503 default 3600');
  });

  it('hands a denial to exception filters with throw: true', async () => {
    @Catch(RateLimitException)
    class Filter implements ExceptionFilter<RateLimitException> {
      catch(exception: RateLimitException, host: ArgumentsHost): void {
        const { url } = host.switchToHttp().getRequest<NestRequest>();
        const response = host.switchToHttp().getResponse<{ statusCode: number; end(body: string): void }>();
        response.statusCode = 420;
        response.end(`${exception.code} ${url}`);
      }
    }
    const { fetch } = await serve(
      platform,
      rootOf({ policy: upTo(1), throw: true }, { providers: [{ provide: APP_FILTER, useClass: Filter }] }),
    );
    await fetch('/nowhere');

    const denied = await fetch('/nowhere');

    expect(denied.status).toBe(420);
    expect(await denied.text()).toMatch(/^SLUICE_DENIED \//);
    expect(denied.headers.get('ratelimit-policy')).toBe('"default";q=1;w=3600');
  });
});

describe('RateLimitMiddleware', () => {
  const serve = untilTestEnds();

  it('knows no routes: a limit by route is one budget there, with a warning', async () => {
    const warn = jest.spyOn(process, 'emitWarning').mockImplementation(() => undefined);
    const { statuses } = await serve('Fastify', rootOf({ policy: upTo(2), key: [byIp(), byRoute()] }));

    const answers = [
      ...(await statuses('/page', 1)),
      ...(await statuses('/nowhere', 1)),
      ...(await statuses('/tight', 1)),
    ];

    expect(answers).toEqual([200, 404, 429]);
    expect(warn).toHaveBeenCalledTimes(1);
    expect(warn).toHaveBeenCalledWith(
      expect.stringContaining('RateLimitMiddleware'),
      expect.objectContaining({ code: 'SLUICE_ROUTE_UNKNOWN' }),
    );
    warn.mockRestore();
  });

  it('warns of an application that believes every client', async () => {
    const warn = jest.spyOn(process, 'emitWarning').mockImplementation(() => undefined);
    const { statuses } = await serve('Fastify', rootOf({ policy: upTo(2) }), { trustAllAddresses: true });

    await statuses('/nowhere', 1);

    expect(warn).toHaveBeenCalledWith(
      expect.stringContaining('trusts every proxy'),
      expect.objectContaining({ code: 'SLUICE_PROXY_TRUSTS_ALL' }),
    );
    warn.mockRestore();
  });
});
