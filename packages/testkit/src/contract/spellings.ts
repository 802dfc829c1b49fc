import { expect } from '@jest/globals';
import { fixedWindow, memoryStore } from '@sluice/old-core';
import { byIp, byMethod, byRoute } from '@sluice/old-http';
import { exchange } from '../raw-http.ts';
import type { Handle } from './adapter.ts';
import { send } from './http-client.ts';
import { Log } from './log.ts';
import { describe, it } from './scenario.ts';
import { PLACES, type Suite } from './suite.ts';

const policy = fixedWindow({ limit: 3, window: '1h' });

/** Spellings of a path, the plain one first: each framework decides which of them are the same resource. */
export function spellingsOf(path: string): readonly string[] {
  const name = path.slice(1);
  const first = `%${name.charCodeAt(0).toString(16)}`;
  const rest = name.slice(1);
  return [
    ...[path, path.toUpperCase(), `/${name.charAt(0).toUpperCase()}${rest}`, `${path}/`, `${path}//`, `/${path}`],
    ...[`//${path}`, `/.${path}`, `/x/..${path}`, `${path}/.`, `${path}/../${name}`, `/${first}${rest}`],
    ...[`/${first.toUpperCase()}${rest}`, `/%25${first.slice(1)}${rest}`, `${path};a=1`, `${path}?`, `${path}?x=1`],
    ...[
      `${path}?${path}`,
      `${path}#f`,
      `${path}%23f`,
      `http://test${path}`,
      `HTTP://OTHER${path}`,
      `http://test/${path}`,
    ],
    ...[
      `${path}%2F`,
      `${path}%2f`,
      `%2F${name}`,
      `/%2F${name}`,
      `${path}%00`,
      `${path}%20`,
      `${path}%09`,
      `${path}%0A`,
    ],
    ...[`${path}.`, `${path}%3Fx`, `${path}%E8`, `/%c0%af${name}`, `\\${name}`, `${path}\\`, `${path}&`, `${path}*`],
  ];
}

/** One budget for all spellings of a request. */
export function spellings(suite: Suite): void {
  describe.each(PLACES)('a limit per address and route, %s', (place) => {
    it.each([
      ['POST', '/login', '/login'],
      ['GET', '/users/:id', '/users/1'],
    ] as const)('lets no spelling of %s %s exceed it (B1)', async (method, path, plain) => {
      const server = await suite.serve(
        { name: 'spelt', policy, key: [byIp(), byRoute()] },
        { place, method, path, handle: () => ({ body: 'handled' }) },
      );
      const bytes = (target: string): string =>
        `${method} ${target} HTTP/1.1\r\nHost: test\r\n${method === 'POST' ? 'Content-Length: 0\r\n' : ''}Connection: close\r\n\r\n`;
      const spelt = spellingsOf(plain);

      for (const target of [...spelt, ...spelt]) await exchange(server.port, bytes(target));
      const executions = server.calls.count;
      const afterwards = await server.statuses(4, { path: plain });

      expect(executions).toBeGreaterThan(0);
      expect(executions).toBeLessThanOrEqual(3);
      expect(afterwards.slice(3)).toEqual([429]);
      expect(server.calls.count).toBeLessThanOrEqual(3);
    });

    it('has one budget for all ids in a path (B1)', async () => {
      const server = await suite.serve({ name: 'ids', policy, key: byRoute() }, { place, path: '/users/:id' });

      const statuses = [];
      for (const id of ['1', '2', 'ann', '%41nn', 'x-y']) {
        statuses.push((await server.send({ path: `/users/${id}` })).status);
      }

      expect(statuses).toEqual([200, 200, 200, 429, 429]);
    });

    it('counts HEAD with GET (B3)', async () => {
      const server = await suite.serve({ name: 'head', policy, key: [byIp(), byRoute(), byMethod()] }, { place });

      const statuses = [
        (await server.send()).status,
        (await server.send({ method: 'HEAD' })).status,
        (await server.send()).status,
        (await server.send({ method: 'HEAD' })).status,
        (await server.send()).status,
      ];

      expect(statuses).toEqual([200, 200, 200, 429, 429]);
      expect(server.calls.count).toBe(3);
    });

    it('distinguishes methods with byMethod()', async () => {
      const { calls, handle } = counted();
      const limit = { name: 'methods', policy, key: [byIp(), byMethod()], shared: true, store: memoryStore() };
      const methods = ['GET', 'POST', 'DELETE'] as const;
      const { port } = await suite.start(
        place === 'at the route'
          ? { routes: methods.map((method) => ({ method, path: '/items', handle, limit })) }
          : { limits: [limit], routes: methods.map((method) => ({ method, path: '/items', handle })) },
      );

      const statuses = [];
      for (const method of methods) for (let i = 0; i < 4; i++) statuses.push((await send(port, { method })).status);

      expect(statuses).toEqual([200, 200, 200, 429, 200, 200, 200, 429, 200, 200, 200, 429]);
      expect(calls.count).toBe(9);
    });

    it('ignores X-HTTP-Method-Override when the application does (B2)', async () => {
      const server = await suite.serve(
        { name: 'method', policy, key: [byIp(), byMethod()] },
        { place, method: 'POST' },
      );
      await server.statuses(3);

      const denied = await server.send({ headers: { 'X-HTTP-Method-Override': 'PUT' } });

      expect(denied.status).toBe(429);
    });
  });

  describe.each(['before', 'after'] as const)('a method override %s the limiter', (methodOverride) => {
    it.each([
      ['application-wide', 'POST', 'PUT'],
      ['application-wide', 'PUT', 'POST'],
      ['at the route', 'POST', 'PUT'],
    ] as const)('does not escape the limit (%s, from %s to %s) (B2)', async (place, from, to) => {
      const server = await suite.serve(
        { name: 'override', policy, key: [byIp(), byRoute()] },
        { place, method: to, path: '/pay', methodOverride },
      );
      const overridden = { method: from, headers: { 'X-HTTP-Method-Override': to } };

      const statuses = [
        ...(await server.statuses(2)),
        ...(await server.statuses(2, overridden)),
        ...(await server.statuses(2)),
        ...(await server.statuses(2, overridden)),
      ];

      expect(statuses).toEqual([200, 200, 200, 429, 429, 429, 429, 429]);
      expect(server.calls.count).toBe(3);
    });

    it('does not give a second budget for a path with both methods (B2)', async () => {
      const { calls, handle } = counted();
      const { port } = await suite.start({
        limits: [{ name: 'override', policy, key: [byIp(), byRoute()] }],
        routes: [
          { method: 'POST', path: '/pay', handle },
          { method: 'PUT', path: '/pay', handle },
        ],
        methodOverride,
      });

      const statuses = [];
      for (const [method, to] of [
        ['POST', 'POST'],
        ['POST', 'PUT'],
        ['PUT', 'PUT'],
        ['PUT', 'POST'],
        ['POST', 'PUT'],
        ['PUT', 'PUT'],
      ] as const) {
        const headers = { 'X-HTTP-Method-Override': to };
        statuses.push((await send(port, { method, path: '/pay', headers })).status);
      }

      expect(statuses).toEqual([200, 200, 200, 429, 429, 429]);
      expect(calls.count).toBe(3);
    });
  });
}

/** A handler of several routes, and its calls. */
function counted(): { readonly calls: Log; readonly handle: Handle } {
  const calls = new Log();
  const handle: Handle = (call) => {
    calls.add(call);
    return {};
  };
  return { calls, handle };
}
