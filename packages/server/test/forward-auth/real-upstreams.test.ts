import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { connect, type AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import Fastify from 'fastify';
import type { ForwardAuthRule } from '../../src/config/configuration.ts';
import { RouteTable } from '../../src/forward-auth/route-table.ts';

const rule = (name: string, path: string): ForwardAuthRule => ({
  ...{ name, skip: false, key: ['ip'], cost: 1, policy: undefined, limit: undefined },
  match: { paths: [path], methods: [] },
});
const table = new RouteTable([rule('login', '/login'), rule('orders', '/users/*/orders'), rule('rest', '/*')]);

/** The rules that a request with this target is held to. */
function heldTo(target: string): readonly string[] {
  return table.find(target.split('?')[0] as string, 'POST')?.map((route) => route.rule.name) ?? ['400'];
}

/** Sends a target as it stands, which no client of Node does, and returns the body of the answer. */
async function bodyOf(server: Server, target: string): Promise<string> {
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
  socket.end(`POST ${target} HTTP/1.1\r\nHost: upstream\r\nContent-Length: 0\r\nConnection: close\r\n\r\n`);
  return (await text(socket)).split('\r\n\r\n')[1] ?? '';
}

describe('a request that a real upstream routes to /login is held to its limit', () => {
  const fastify = Fastify({ routerOptions: { useSemicolonDelimiter: true } as object }); // not in its types
  const byUrl = createServer((request, response) => {
    const { pathname } = new URL(request.url ?? '', 'http://upstream');
    response.end(pathname === '/login' ? 'login' : 'rest');
  });
  beforeAll(async () => {
    fastify.post('/login', () => 'login');
    await fastify.listen({ port: 0, host: '127.0.0.1' });
    byUrl.listen(0, '127.0.0.1');
    await once(byUrl, 'listening');
  });
  afterAll(async () => {
    byUrl.close();
    await fastify.close();
  });

  it.each(['///x/login', '////x/login', '//x//../login', '/\\x/login', '/x/../login', '/./login'])(
    'by new URL(request.url, base): %s',
    async (target) => {
      expect(await bodyOf(byUrl, target)).toBe('login');
      expect(heldTo(target)).toContain('login');
    },
  );

  it.each(['/login;/~', '/login;a=1', '/login;', '/l%6fgin;/x'])(
    'by Fastify with useSemicolonDelimiter: %s',
    async (target) => {
      expect(await bodyOf(fastify.server, target)).toContain('login');
      expect(heldTo(target)).toContain('login');
    },
  );
});

describe('a request that a pattern which ignores capitals takes for /users/:id/orders', () => {
  it.each(['/u%C5%BFers/9/orders', '/USERS/9/order%c5%bf'])('is held to its limit: %s', (target) => {
    expect(decodeURIComponent(target)).toMatch(/^\/users\/\d+\/orders$/iu);
    expect(heldTo(target)).toContain('orders');
  });
});
