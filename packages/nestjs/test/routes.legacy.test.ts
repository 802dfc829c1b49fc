import { once } from 'node:events';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it, jest } from '@jest/globals';
import { Controller, Get, Param, Req, VERSION_NEUTRAL, Version, VersioningType } from '@nestjs/common';
import { ExpressAdapter } from '@nestjs/platform-express';
import { RateLimit, RateLimitModule, RateLimits, byRoute, fixedWindow, type NestRequest } from '@sluice/nestjs';
import { platforms, untilTestEnds } from './serve.ts';

const limit = { policy: fixedWindow({ limit: 2, window: '1h' }), key: byRoute() };

@Controller(['shops', '/stores/'])
class Shops {
  @Get(['list', 'all/'])
  @RateLimit(limit)
  list(@Req() { rateLimit }: NestRequest) {
    return rateLimit?.key;
  }

  @Get(':id')
  @RateLimit({ ...limit, name: 'one' })
  read(@Req() { rateLimit }: NestRequest, @Param('id') _id: string) {
    return rateLimit?.key;
  }
}

@Controller({ path: 'prices', version: ['1', '2'] })
class Prices {
  @Get()
  @RateLimit(limit)
  list(@Req() { rateLimit }: NestRequest) {
    return rateLimit?.key;
  }

  @Get('now')
  @Version(['3', VERSION_NEUTRAL])
  @RateLimit(limit)
  now(@Req() { rateLimit }: NestRequest) {
    return rateLimit?.key;
  }
}

@Controller({ path: 'users', version: '1' })
class Users {
  @Get(':id')
  @RateLimit(limit)
  read(@Req() { rateLimit }: NestRequest, @Param('id') _id: string) {
    return rateLimit?.key;
  }
}

describe.each(platforms)('byRoute() on %s', (platform) => {
  const serve = untilTestEnds();

  it.each<[string, readonly string[], string]>([
    ['the template', ['/v1/users/1', '/v1/users/2'], '/api/v1/users/:id'],
    [
      'one for all paths of a handler',
      ['/shops/list', '/stores/all'],
      '/shops/list,/shops/all,/stores/list,/stores/all',
    ],
    ['one for all paths of a controller', ['/shops/1', '/stores/2'], '/shops/:id,/stores/:id'],
    ['one for all versions in the path', ['/v1/prices', '/v2/prices'], '/prices@1,2'],
    ['one for versions and none', ['/v3/prices/now', '/prices/now'], '/prices/now@3,Symbol(VERSION_NEUTRAL)'],
  ])('is %s', async (_what, paths, key) => {
    const { app, fetch } = await serve(
      platform,
      { imports: [RateLimitModule.forRoot()], controllers: [Shops, Prices, Users] },
      { prepare: (nest) => nest.setGlobalPrefix('api').enableVersioning({ type: VersioningType.URI }) },
    );
    const answers = [];
    for (const path of [...paths, paths[0]]) answers.push(await fetch(`/api${path ?? ''}`));

    expect(answers.map(({ status }) => status)).toEqual([200, 200, 429]);
    expect(await Promise.all(answers.slice(0, 2).map((one) => one.text()))).toEqual([key, key]);
    expect(app.get(RateLimits).limiter('one')).toBeDefined();
  });
});

/** Of Express's own type, what stands around Nest. */
interface ExpressApp {
  (request: unknown, response: unknown, next: () => void): void;
  use(path: string | readonly string[], handler: unknown): unknown;
  listen(port: number, host: string): Server;
}

@Controller()
class Accounts {
  @Get('login')
  @RateLimit(limit)
  login() {
    return '';
  }
}

const express = () => new ExpressAdapter().getInstance<ExpressApp>();

describe('byRoute() in Nest on Express, mounted in another application', () => {
  const serve = untilTestEnds();
  const servers = new Set<Server>();
  afterEach(() => {
    for (const server of servers) server.close().closeAllConnections();
    servers.clear();
  });

  it.each<[string, (outer: ExpressApp, nest: ExpressApp) => unknown, readonly string[], number]>([
    ['a parameter', (outer, nest) => outer.use('/:tenant', nest), ['/a/login', '/%61/login', '/b/login'], 0],
    ['a path', (outer, nest) => outer.use('/api/', nest), ['/api/login', '/API/login', '/Api/login'], 0],
    ['several paths', (outer, nest) => outer.use(['/v1', '/v2'], nest), ['/v1/login', '/v2/login', '/V2/login'], 0],
    [
      'parameters of several applications',
      (outer, nest) => {
        const between = express();
        outer.use('/:region', between);
        between.use('/:tenant', nest);
      },
      ['/a/b/login', '/a/c/login', '/d/b/login'],
      0,
    ],
    [
      'a function, of which it cannot know, with a warning',
      (outer, nest) => {
        outer.use('/:tenant', (request: unknown, response: unknown, next: () => void) => {
          nest(request, response, next);
        });
      },
      ['/a/login', '/%61/login', '/b/login'],
      1,
    ],
  ])('is one budget below %s, whatever the request writes there', async (_what, mount, paths, warnings) => {
    const warn = jest.spyOn(process, 'emitWarning').mockImplementation(() => undefined);
    const { app } = await serve('Express', { imports: [RateLimitModule.forRoot()], controllers: [Accounts] });
    const outer = express();
    mount(outer, app.getHttpAdapter().getInstance() as ExpressApp);
    const server = outer.listen(0, '127.0.0.1');
    servers.add(server);
    await once(server, 'listening');
    const statuses = [];
    for (const path of paths) {
      statuses.push((await fetch(`http://127.0.0.1:${String((server.address() as AddressInfo).port)}${path}`)).status);
    }

    expect(statuses).toEqual([200, 200, 429]);
    expect(warn).toHaveBeenCalledTimes(warnings);
    warn.mockRestore();
  });
});
