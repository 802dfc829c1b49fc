import { afterEach, describe, expect, it } from '@jest/globals';
import { fixedWindow } from '@sluice/old-core';
import { byRoute, sluice } from '@sluice/fastify';
import { exchange, spellingsOf } from '@sluice/testkit';
import Fastify, { type FastifyInstance, type FastifyServerOptions } from 'fastify';

const LIMIT = 3;
const running: FastifyInstance[] = [];
afterEach(async () => {
  await Promise.all(running.splice(0).map((app) => app.close()));
});

/** The further options of its router, by which Fastify reads a path in other ways. */
const OPTIONS: readonly (readonly [string, object])[] = [
  ['ignores capitals', { caseSensitive: false }],
  ['ignores slashes', { ignoreTrailingSlash: true, ignoreDuplicateSlashes: true }],
  ['takes ; for the beginning of a query', { useSemicolonDelimiter: true }],
  [
    'ignores all of them',
    { caseSensitive: false, ignoreTrailingSlash: true, ignoreDuplicateSlashes: true, useSemicolonDelimiter: true },
  ],
];

describe('a limit per route, with a router that', () => {
  it.each(OPTIONS)('%s: no spelling exceeds it', async (_what, routerOptions) => {
    const app = Fastify({ routerOptions } as FastifyServerOptions);
    running.push(app);
    await app.register(sluice, { name: 'spelt', policy: fixedWindow({ limit: LIMIT, window: '1h' }), key: byRoute() });
    const executions = new Map<string, number>();
    for (const path of ['/login', '/shops/:shop/login', '/files/*']) {
      app.get(path, () => {
        executions.set(path, (executions.get(path) ?? 0) + 1);
        return 'handled';
      });
    }
    await app.listen({ port: 0, host: '127.0.0.1' });
    const port = (app.server.address() as { readonly port: number }).port;

    for (const plain of ['/login', '/shops/1/login', '/files/a']) {
      for (const target of [...spellingsOf(plain), `${plain};/~`, `${plain};`, ...spellingsOf(plain)]) {
        await exchange(port, `GET ${target} HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n`);
      }
    }

    expect([...executions.values()]).toEqual([LIMIT, LIMIT, LIMIT]);
  });
});
