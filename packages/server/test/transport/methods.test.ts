import { once } from 'node:events';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createHttpListener } from '../../src/transport/http.ts';
import { sendText } from '../../src/transport/send.ts';

describe('a route', () => {
  let server: Server;
  beforeAll(async () => {
    const handle: Parameters<typeof createHttpListener>[0][0]['handle'] = (_request, response) => {
      sendText(response, 200, 'text');
    };
    const routes = [
      { path: '/read', method: 'GET', handle } as const,
      { path: '/write', method: 'POST', handle } as const,
    ];
    server = createHttpListener(routes, { maxInFlight: 10 }).listen(0, '127.0.0.1');
    await once(server, 'listening');
  });
  afterAll(() => {
    server.close();
  });
  const ask = async (method: string, path: string) => {
    const { port } = server.address() as AddressInfo;
    const response = await fetch(`http://127.0.0.1:${String(port)}${path}`, { method });
    const { status, headers } = response;
    return { status, allow: headers.get('allow'), length: headers.get('content-length'), text: await response.text() };
  };

  it('of GET answers HEAD with the same fields and no body', async () => {
    expect(await ask('GET', '/read')).toEqual({ status: 200, allow: null, length: '4', text: 'text' });
    expect(await ask('HEAD', '/read')).toEqual({ status: 200, allow: null, length: '4', text: '' });
  });

  it.each([
    ['POST', '/read', 'GET, HEAD'],
    ['DELETE', '/read', 'GET, HEAD'],
    ['GET', '/write', 'POST'],
    ['HEAD', '/write', 'POST'],
  ])('answers 405 to %s %s, and says which methods it takes', async (method, path, allow) => {
    expect(await ask(method, path)).toMatchObject({ status: 405, allow });
  });
});
