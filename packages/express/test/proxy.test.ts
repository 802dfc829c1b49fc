import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, get, type IncomingMessage } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it, jest } from '@jest/globals';
import { fixedWindow, rateLimit } from '@sluice/express';
import request from 'supertest';
import { frameworkFor } from '../src/framework.ts';
import { frameworks } from './frameworks.ts';

const policy = fixedWindow({ limit: 1, window: '1h' });

describe.each(frameworks)('the address on $version', ({ express }) => {
  it('is missing on a Unix socket', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'sluice-socket-'));
    const socketPath = join(folder, 'http');
    const app = express();
    app.use(rateLimit({ policy }), (_request, response) => {
      response.end();
    });
    const server = createServer(app).listen(socketPath);
    await once(server, 'listening');

    const [response] = (await once(get({ socketPath, path: '/' }), 'response')) as [IncomingMessage];
    response.resume();
    await once(response, 'end');
    server.closeAllConnections();
    server.close();
    rmSync(folder, { recursive: true });

    expect(response.statusCode).toBe(403);
  });

  it.each<[string, unknown, boolean]>([
    ['every address', true, true],
    ['every address, by a function', () => true, true],
    ['no address', false, false],
    ['the nearest proxy', 1, false],
    ['its own machine', 'loopback', false],
    ['addresses', ['loopback', '10.0.0.0/8'], false],
  ])('is trusted to %s where the application says so', async (_whom, setting, believesAnybody) => {
    const app = express();
    app.set('trust proxy', setting);
    app.get('/', (req, response) => {
      const trusts = frameworkFor(() => undefined).proxyTrust?.(req) as (address: string, hop: number) => boolean;
      response.json(trusts('192.0.2.1', 100));
    });

    const answer = await request(app).get('/');

    expect(answer.body).toBe(believesAnybody);
  });
});

describe('an application that trusts every proxy', () => {
  afterEach(() => {
    jest.restoreAllMocks();
  });

  it('is warned of once, however many requests and limits it has', async () => {
    const emitWarning = jest.spyOn(process, 'emitWarning').mockImplementation(() => {});
    const apps = frameworks.map(({ express }) => {
      const app = express();
      app.set('trust proxy', true);
      app.use(rateLimit({ policy }), rateLimit({ policy }), (_request, response) => {
        response.end();
      });
      return app;
    });

    for (const app of apps) for (let i = 0; i < 3; i++) await request(app).get('/');

    expect(emitWarning.mock.calls).toEqual([
      [
        expect.stringContaining('X-Forwarded-For'),
        expect.objectContaining({ type: 'SluiceWarning', code: 'SLUICE_PROXY_TRUSTS_ALL' }),
      ],
    ]);
  });
});
