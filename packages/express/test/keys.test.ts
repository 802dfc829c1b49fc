import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, get, type IncomingMessage } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import {
  byAll,
  byHeader,
  byIp,
  byMethod,
  byUser,
  fixedWindow,
  rateLimit,
  type Key,
  type RateLimitOptions,
} from '@sluice/express';
import type { Request } from 'express';
import request from 'supertest';
import { frameworks } from './frameworks.ts';

const policy = fixedWindow({ limit: 1, window: '1h' });

describe.each(frameworks)('the key on $version', ({ express }) => {
  /** Answers with the key it was counted by. */
  const appWith = (
    key: Key<Request> | undefined,
    settings: { trustProxy?: unknown; options?: Partial<RateLimitOptions> } = {},
  ) => {
    const app = express();
    if (settings.trustProxy !== undefined) app.set('trust proxy', settings.trustProxy);
    app.use((req, _response, next) => {
      const user = req.get('x-user');
      if (user !== undefined) Object.assign(req, { user: { id: user, tenant: `tenant of ${user}` } });
      next();
    });
    app.use(
      rateLimit({ policy, ...(key === undefined ? {} : { key }), ...settings.options } as RateLimitOptions),
      (req, response) => {
        response.json(req.rateLimit?.key ?? null);
      },
    );
    return app;
  };

  describe('byIp()', () => {
    it('is the default', async () => {
      const app = appWith(undefined);

      const answers = [await request(app).get('/'), await request(app).get('/')];

      expect(answers[0]?.body).toBe('127.0.0.1');
      expect(answers[1]?.status).toBe(429);
    });

    it.each(['X-Forwarded-For', 'X-Real-IP', 'Forwarded', 'CF-Connecting-IP', 'True-Client-IP', 'X-Client-IP'])(
      'believes no %s when no proxy is trusted',
      async (field) => {
        const app = appWith(byIp());
        await request(app)
          .get('/')
          .set(field, field === 'Forwarded' ? 'for=203.0.113.1' : '203.0.113.1');

        const answer = await request(app)
          .get('/')
          .set(field, field === 'Forwarded' ? 'for=203.0.113.2' : '203.0.113.2');

        expect(answer.status).toBe(429);
      },
    );

    it.each([
      ['203.0.113.9', '203.0.113.9'],
      ['6.6.6.6, 203.0.113.9', '203.0.113.9'],
      ['203.0.113.9:4711', '203.0.113.9'],
      ['::ffff:203.0.113.9', '203.0.113.9'],
      ['::ffff:cb00:7109', '203.0.113.9'],
      ['2001:DB8:1:2:3::4', '2001:db8:1:2::/64'],
      ['2001:db8:1:2:ffff::1', '2001:db8:1:2::/64'],
      ['[2001:db8:1:2::1]:4711', '2001:db8:1:2::/64'],
    ])('is, behind a trusted proxy that forwards %s, %s', async (forwarded, expected) => {
      const app = appWith(byIp(), { trustProxy: 'loopback' });

      const answer = await request(app).get('/').set('X-Forwarded-For', forwarded);

      expect(answer.body).toBe(expected);
    });

    it('has one budget for all addresses of an IPv6 network, of the size that was asked for', async () => {
      const app = appWith(byIp({ ipv6Prefix: 56 }), { trustProxy: 'loopback' });
      const get = (address: string) => request(app).get('/').set('X-Forwarded-For', address);

      const answers = [await get('2001:db8:1:200::1'), await get('2001:db8:1:2ff::1'), await get('2001:db8:1:300::1')];

      expect(answers.map(({ status }) => status)).toEqual([200, 429, 200]);
      expect(answers[0]?.body).toBe('2001:db8:1:200::/56');
    });

    it('is missing on a Unix socket', async () => {
      const folder = mkdtempSync(join(tmpdir(), 'sluice-socket-'));
      const socketPath = join(folder, 'http');
      const server = createServer(appWith(byIp())).listen(socketPath);
      await once(server, 'listening');

      const [response] = (await once(get({ socketPath, path: '/' }), 'response')) as [IncomingMessage];
      response.resume();
      await once(response, 'end');
      server.closeAllConnections();
      server.close();
      rmSync(folder, { recursive: true });

      expect(response.statusCode).toBe(403);
    });

    it('is missing where the proxy forwards what is no address', async () => {
      const app = appWith(byIp(), { trustProxy: 'loopback' });

      const answer = await request(app).get('/').set('X-Forwarded-For', 'unknown');

      expect(answer.status).toBe(403);
    });
  });

  it('byMethod() has a budget per method, and HEAD takes from that of GET', async () => {
    const app = appWith(byMethod());

    const answers = [
      await request(app).get('/'),
      await request(app).post('/'),
      await request(app).head('/'),
      await request(app).delete('/'),
    ];

    expect(answers.map(({ status }) => status)).toEqual([200, 200, 429, 200]);
    expect(answers.map(({ body }) => body as unknown)).toMatchObject(['GET', 'POST', {}, 'DELETE']);
  });

  it('byMethod() does not believe X-HTTP-Method-Override', async () => {
    const app = appWith(byMethod());
    await request(app).post('/');

    const answer = await request(app).post('/').set('X-HTTP-Method-Override', 'PUT');

    expect(answer.status).toBe(429);
  });

  it('byUser() is request.user.id, where the usual authentication leaves it', async () => {
    const app = appWith(byUser());

    const answers = [
      await request(app).get('/').set('X-User', 'ann'),
      await request(app).get('/').set('X-User', 'ann'),
      await request(app).get('/').set('X-User', 'bob'),
    ];

    expect(answers.map(({ status }) => status)).toEqual([200, 429, 200]);
    expect(answers[0]?.body).toBe('ann');
  });

  it.each<[string, (req: Request) => string | undefined | Promise<string | undefined>]>([
    ['sync', (req) => (req as { user?: { tenant: string } }).user?.tenant],
    ['async', async (req) => Promise.resolve((req as { user?: { tenant: string } }).user?.tenant)],
  ])('byUser(pick) is what pick answers (%s)', async (_kind, pick) => {
    const answer = await request(appWith(byUser(pick)))
      .get('/')
      .set('X-User', 'ann');

    expect(answer.body).toBe('tenant of ann');
  });

  it('byHeader() is the field, however its name is spelt', async () => {
    const app = appWith(byHeader('X-API-Key'));

    const answers = [
      await request(app).get('/').set('x-api-key', 'k1'),
      await request(app).get('/').set('X-Api-Key', 'k1'),
      await request(app).get('/').set('X-Api-Key', 'k2'),
    ];

    expect(answers.map(({ status }) => status)).toEqual([200, 429, 200]);
  });

  it('byAll() is one budget for everybody', async () => {
    const app = appWith(byAll(), { trustProxy: 'loopback' });
    await request(app).get('/').set('X-Forwarded-For', '203.0.113.1');

    const answer = await request(app).get('/').set('X-Forwarded-For', '203.0.113.2');

    expect(answer.status).toBe(429);
  });

  it.each<[string, Key<Request>, string]>([
    ['a function', (req) => req.path, '/x'],
    ['a function that answers a number', () => 42, '42'],
    ['an async function', async (req) => Promise.resolve(req.path), '/x'],
    ['a list', [byIp(), (req) => req.path], '127.0.0.1|/x'],
    [
      'a list with an async function',
      [byIp(), async (req) => Promise.resolve(req.path), byMethod()],
      '127.0.0.1|/x|GET',
    ],
  ])('may be %s', async (_kind, key, expected) => {
    const answer = await request(appWith(key)).get('/x');

    expect(answer.body).toBe(expected);
  });

  describe('that a request does not have', () => {
    const get = (options: Partial<RateLimitOptions>, key: Key<Request> = byUser()) => {
      const app = appWith(key, { options });
      return async () => request(app).get('/');
    };

    it.each<[string, Partial<RateLimitOptions>]>([
      ['by default', {}],
      ['with onMissingKey: "deny"', { onMissingKey: 'deny' }],
    ])('means 403 %s, without fields and with problem details', async (_said, options) => {
      const answer = await get(options)();

      expect(answer.status).toBe(403);
      expect(answer.headers).toMatchObject({ 'content-type': 'application/problem+json', 'cache-control': 'no-store' });
      expect(answer.headers).not.toHaveProperty('ratelimit');
      expect(answer.headers).not.toHaveProperty('retry-after');
      expect(JSON.parse(answer.text)).toEqual({
        type: 'about:blank',
        title: 'Forbidden',
        status: 403,
        detail: 'This request carries nothing to count it by.',
      });
    });

    it('means no limit with onMissingKey: "skip"', async () => {
      const send = get({ onMissingKey: 'skip' });

      const answers = [await send(), await send()];

      expect(answers.map(({ status }) => status)).toEqual([200, 200]);
      expect(answers[1]?.headers).not.toHaveProperty('ratelimit');
    });

    it('means one budget for all of them with onMissingKey: "shared", which no key can name', async () => {
      const app = appWith(byUser(), { options: { onMissingKey: 'shared' } });
      const users = ['#missing', 'undefined', 'null'];

      const first = await request(app).get('/');
      const named = [];
      for (const user of users) named.push(await request(app).get('/').set('X-User', user));
      const second = await request(app).get('/');

      expect(first.status).toBe(200);
      expect(named.map(({ status }) => status)).toEqual([200, 200, 200]);
      expect(second.status).toBe(429);
    });

    it.each<[string, Key<Request>]>([
      ['null', () => null],
      ["''", () => ''],
      ['undefined, later', async () => Promise.resolve(undefined)],
      ['a list in which one part is missing', [byIp(), () => undefined]],
    ])('is %s', async (_written, key) => {
      const answer = await get({}, key)();

      expect(answer.status).toBe(403);
    });
  });
});
