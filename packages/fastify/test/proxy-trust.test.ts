import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import sluice from '@sluice/fastify';
import Fastify, { type FastifyInstance, type FastifyServerOptions } from 'fastify';

let app: FastifyInstance;
let warned: string[];

beforeEach(() => {
  warned = [];
  jest.spyOn(process, 'emitWarning').mockImplementation((_message, options) => {
    warned.push((options as { code: string }).code);
  });
});

afterEach(async () => {
  jest.restoreAllMocks();
  await app.close();
});

/** Each warning is given once in a process, so each case here is another code. */
async function ask(trustProxy: unknown, headers: Record<string, string> = {}): Promise<void> {
  app = Fastify({ trustProxy } as FastifyServerOptions);
  await app.register(sluice, { limit: 5, window: '1m' });
  app.get('/', () => '');
  await app.listen({ host: '127.0.0.1', port: 0 });
  const { port } = app.server.address() as { port: number };
  await fetch(`http://127.0.0.1:${String(port)}/`, { headers });
}

describe('the option trustProxy of the application', () => {
  it('is not warned of where it names proxies, or nothing is behind one', async () => {
    await ask('127.0.0.1', { 'x-forwarded-for': '203.0.113.9' });
    await app.close();
    await ask(false);

    expect(warned).toEqual([]);
  });

  it.each([
    ['true', true, 'SLUICE_PROXY_TRUSTS_ALL', {}],
    ['a number', 1, 'SLUICE_PROXY_HOP_COUNT', {}],
    ['false, behind a proxy', false, 'SLUICE_PROXY_NOT_TRUSTED', { 'x-forwarded-for': '203.0.113.9' }],
  ])('is warned of once where it is %s', async (_what, trust, code, headers: Record<string, string>) => {
    await ask(trust, headers);
    await app.close();
    await ask(trust, headers);

    expect(warned).toEqual([code]);
  });
});
