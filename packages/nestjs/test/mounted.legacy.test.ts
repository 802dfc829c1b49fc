import { once } from 'node:events';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it, jest } from '@jest/globals';
import { Controller, Get } from '@nestjs/common';
import { ExpressAdapter } from '@nestjs/platform-express';
import { RateLimit, RateLimitModule, byRoute, fixedWindow } from '@sluice/nestjs';
import { untilTestEnds } from './serve.ts';

/** Of Express's own type, what stands around Nest. */
interface ExpressApp {
  (request: unknown, response: unknown, next: () => void): void;
  use(path: string | readonly string[], handler: unknown): unknown;
  listen(port: number, host: string): Server;
}

@Controller()
class Accounts {
  @Get('login')
  @RateLimit({ policy: fixedWindow({ limit: 2, window: '1h' }), key: byRoute() })
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

  /** The statuses of requests to an application that Nest is mounted in. */
  const statusesOf = async (mount: (nest: ExpressApp) => ExpressApp, paths: readonly string[]): Promise<number[]> => {
    const { app } = await serve('Express', { imports: [RateLimitModule.forRoot()], controllers: [Accounts] });
    const nest = app.getHttpAdapter().getInstance() as ExpressApp;
    const server = mount(nest).listen(0, '127.0.0.1');
    servers.add(server);
    await once(server, 'listening');
    const origin = `http://127.0.0.1:${String((server.address() as AddressInfo).port)}`;
    const statuses = [];
    for (const path of paths) statuses.push((await fetch(origin + path)).status);
    return statuses;
  };

  it.each<[string, (outer: ExpressApp, nest: ExpressApp) => unknown, readonly string[]]>([
    ['a parameter', (outer, nest) => outer.use('/:tenant', nest), ['/a/login', '/%61/login', '/b/login']],
    ['a path', (outer, nest) => outer.use('/api/', nest), ['/api/login', '/API/login', '/Api/login']],
    ['several paths', (outer, nest) => outer.use(['/v1', '/v2'], nest), ['/v1/login', '/v2/login', '/V2/login']],
    [
      'parameters of several applications',
      (outer, nest) => {
        const between = express();
        outer.use('/:region', between);
        between.use('/:tenant', nest);
      },
      ['/a/b/login', '/a/c/login', '/d/b/login'],
    ],
  ])('is one budget below %s, whatever the request names there', async (_what, mount, paths) => {
    const statuses = await statusesOf((nest) => {
      const outer = express();
      mount(outer, nest);
      return outer;
    }, paths);

    expect(statuses).toEqual([200, 200, 429]);
  });

  it('is one budget where it cannot be known how Nest is mounted, with a warning', async () => {
    const warn = jest.spyOn(process, 'emitWarning').mockImplementation(() => undefined);
    const statuses = await statusesOf(
      (nest) => {
        const outer = express();
        outer.use('/:tenant', (request: unknown, response: unknown, next: () => void) => {
          nest(request, response, next);
        });
        return outer;
      },
      ['/a/login', '/%61/login', '/b/login'],
    );

    expect(statuses).toEqual([200, 200, 429]);
    expect(warn).toHaveBeenCalledTimes(1);
    expect(warn).toHaveBeenCalledWith(
      expect.stringContaining('mounted'),
      expect.objectContaining({ code: 'SLUICE_ROUTE_UNKNOWN' }),
    );
    warn.mockRestore();
  });
});
