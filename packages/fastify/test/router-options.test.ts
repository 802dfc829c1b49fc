import { describe, expect, it } from '@jest/globals';
import { byRoute, fixedWindow, sluice } from '@sluice/fastify';
import { exchange, spellingsOf } from '@sluice/testkit';
import { closeAfterEach, create, portOf } from './requests.ts';

closeAfterEach();

const LIMIT = 3;
const PATHS = { '/login': '/login', '/shops/:shop/login': '/shops/1/login', '/files/*': '/files/a' };

describe('a limit per route, with a router that', () => {
  it.each<[string, object]>([
    ['ignores capitals', { caseSensitive: false }],
    ['ignores slashes', { ignoreTrailingSlash: true, ignoreDuplicateSlashes: true }],
    ['takes ; for the beginning of a query', { useSemicolonDelimiter: true }],
    [
      'ignores all of them',
      { caseSensitive: false, ignoreTrailingSlash: true, ignoreDuplicateSlashes: true, useSemicolonDelimiter: true },
    ],
  ])('%s: no spelling exceeds it', async (_what, routerOptions) => {
    const app = create({ routerOptions });
    await app.register(sluice, { name: 'spelt', policy: fixedWindow({ limit: LIMIT, window: '1h' }), key: byRoute() });
    const calls: string[] = [];
    for (const path of Object.keys(PATHS)) app.get(path, () => String(calls.push(path)));
    const port = await portOf(app);

    for (const plain of Object.values(PATHS)) {
      for (const target of [...spellingsOf(plain), `${plain};/~`, `${plain};`, ...spellingsOf(plain)]) {
        await exchange(port, `GET ${target} HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n`);
      }
    }

    expect(calls).toEqual(Object.keys(PATHS).flatMap((path) => Array.from({ length: LIMIT }, () => path)));
  });
});
