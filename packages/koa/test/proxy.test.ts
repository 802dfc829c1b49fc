import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { rateLimit } from '@sluice/koa';
import { frameworks } from './frameworks.ts';
import { useServers } from './serve.ts';

const forwarded = { headers: { 'X-Forwarded-For': '6.6.6.6, 203.0.113.9' } };

describe('a limiter behind a proxy', () => {
  const serve = useServers();
  let emitWarning: jest.SpiedFunction<typeof process.emitWarning>;
  beforeEach(() => {
    emitWarning = jest.spyOn(process, 'emitWarning').mockImplementation(() => {});
  });
  afterEach(() => {
    jest.restoreAllMocks();
  });

  const keyUnder = async (Koa: (typeof frameworks)[number]['Koa'], settings: object) => {
    const app = Object.assign(new Koa(), settings);
    app.use(rateLimit({ limit: 100, window: '1m' }));
    app.use((ctx) => {
      ctx.body = ctx.state.rateLimit?.key;
    });
    return (await (await serve(app)).ask('/', forwarded)).text;
  };

  it.each(frameworks)(
    'counts the client that the proxy names, where hops are trusted, on $version',
    async ({ Koa }) => {
      expect(await keyUnder(Koa, { proxy: true, maxIpsCount: 1 })).toBe('203.0.113.9');
      expect(emitWarning).not.toHaveBeenCalled();
    },
  );

  it.each(frameworks)('does not warn of a field that the proxy alone sets, on $version', async ({ Koa }) => {
    const settings = { proxy: true, proxyIpHeader: 'X-Real-IP' };
    const app = Object.assign(new Koa(), settings);
    app.use(rateLimit({ limit: 100, window: '1m' }));
    const { ask } = await serve(app);

    await ask('/', { headers: { 'X-Real-IP': '203.0.113.9' } });

    expect(emitWarning).not.toHaveBeenCalled();
  });

  it('warns once where every address is trusted, for a client then chooses its own address', async () => {
    const keys = [];
    for (const { Koa } of frameworks) keys.push(await keyUnder(Koa, { proxy: true }));

    expect(keys).toEqual(['6.6.6.6', '6.6.6.6']);
    expect(emitWarning.mock.calls).toEqual([
      [expect.any(String), expect.objectContaining({ code: 'SLUICE_PROXY_TRUSTS_ALL' })],
    ]);
  });
});
