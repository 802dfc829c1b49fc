import { describe, expect, it } from '@jest/globals';
import { Controller, Get, Post, Req, VERSION_NEUTRAL, Version, VersioningType } from '@nestjs/common';
import { RateLimit, RateLimitModule, RateLimits, byRoute, fixedWindow, type NestRequest } from '@sluice/nestjs';
import { platforms, untilTestEnds } from './serve.ts';

const policy = fixedWindow({ limit: 3, window: '1h' });

@Controller(['shops', 'stores'])
class Shops {
  @Get(['list', 'all/'])
  @RateLimit({ policy, key: byRoute() })
  list(@Req() request: NestRequest) {
    return { key: request.rateLimit?.key };
  }

  @Post()
  @RateLimit({ policy, key: byRoute() })
  add(@Req() request: NestRequest) {
    return { key: request.rateLimit?.key };
  }
}

@Controller({ path: 'prices', version: ['1', '2'] })
class Prices {
  @Get()
  @RateLimit({ policy, key: byRoute() })
  list(@Req() request: NestRequest) {
    return { key: request.rateLimit?.key };
  }

  @Get('now')
  @Version(['3', VERSION_NEUTRAL])
  @RateLimit({ policy, key: byRoute() })
  now(@Req() request: NestRequest) {
    return { key: request.rateLimit?.key };
  }
}

describe.each(platforms)('byRoute() at a handler with several paths on %s', (platform) => {
  const serve = untilTestEnds();
  const keysOf = async (paths: readonly string[], method = 'GET'): Promise<unknown[]> => {
    const { fetch } = await serve(
      platform,
      { imports: [RateLimitModule.forRoot()], controllers: [Shops, Prices] },
      { prepare: (app) => app.setGlobalPrefix('api').enableVersioning({ type: VersioningType.URI }) },
    );
    const got = [];
    for (const path of paths) {
      const answer = await fetch(`/api${path}`, { method });
      got.push(answer.ok ? ((await answer.json()) as { key: unknown }).key : answer.status);
    }
    return got;
  };

  it('is one route, with one budget', async () => {
    const got = await keysOf(['/shops/list', '/stores/list', '/shops/all', '/stores/all']);

    const key = '/api/shops/list,/shops/all,/stores/list,/stores/all';
    expect(got).toEqual([key, key, key, 429]);
  });

  it('is one route for a list of controller paths', async () => {
    const key = '/api/shops,/stores';

    expect(await keysOf(['/shops', '/stores', '/shops', '/stores'], 'POST')).toEqual([key, key, key, 429]);
  });

  it('is one route for versions in the path', async () => {
    const list = '/api/{1,2}/prices';
    const now = '/api/{3,}/prices/now';

    expect(await keysOf(['/v1/prices', '/v2/prices', '/v1/prices', '/v2/prices'])).toEqual([list, list, list, 429]);
    expect(await keysOf(['/v3/prices/now', '/prices/now'])).toEqual([now, now]);
  });

  it('gives keyFor() the key that is counted', async () => {
    const keys: unknown[] = [];
    @Controller(['a', 'b'])
    class Own {
      @Get()
      @RateLimit({ name: 'own', policy, key: byRoute() })
      async own(@Req() request: NestRequest) {
        keys.push(await served.app.get(RateLimits).keyFor('own', request), request.rateLimit?.key);
        return '';
      }
    }
    const served = await serve(platform, { imports: [RateLimitModule.forRoot()], controllers: [Own] });

    await served.statuses('/b', 1);

    expect(keys).toEqual(['/a,/b', '/a,/b']);
  });
});
