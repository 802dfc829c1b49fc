import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { fixedWindow, rateLimit, tokenBucket, type RateLimitOptions, type Store } from '@sluice/express';
import { fakeClock, memory, realRedis } from '@sluice/testkit';
import request from 'supertest';
import { frameworks } from './frameworks.ts';
import { exchange, listen } from '@sluice/testkit';

const AT_MS = 1_795_262_429_400; // 30.6 seconds before the minute is over
const QUOTA = 'https://iana.org/assignments/http-problem-types#quota-exceeded';

describe.each(
  [memory, realRedis()].flatMap((stores) =>
    frameworks.map((framework) => ({ ...framework, kind: stores.kind, stores })),
  ),
)('$version over $kind', ({ express, stores }) => {
  beforeAll(() => stores.open());
  afterAll(() => stores.close());

  const newStore = (): Store => stores.store(fakeClock(AT_MS));

  /** One unit a minute, on the clock, for everything. */
  const appWith = (options: Partial<RateLimitOptions> = {}) => {
    const app = express();
    const policy = fixedWindow({ limit: 1, window: '60s', align: 'clock' });
    app.use(rateLimit({ policy, store: newStore(), onStoreError: 'throw', ...options } as RateLimitOptions));
    app.get('/', (_request, response) => {
      response.set('Cache-Control', 'public, max-age=60').send('hello');
    });
    return app;
  };

  describe('an allowed request', () => {
    it('is answered by the application, with the fields and nothing else of the limiter', async () => {
      const answer = await request(appWith()).get('/');

      expect(answer.status).toBe(200);
      expect(answer.text).toBe('hello');
      expect(answer.headers).toMatchObject({
        'ratelimit-policy': '"default";q=1;w=60',
        ratelimit: '"default";r=0;t=31',
        'cache-control': 'public, max-age=60',
      });
      expect(answer.headers).not.toHaveProperty('retry-after');
    });

    it('has its key and its decision on the request', async () => {
      const app = express();
      app.use(rateLimit({ limit: 5, window: '1m', store: newStore() }));
      app.get('/', (req, response) => {
        response.json(req.rateLimit);
      });

      const answer = await request(app).get('/');

      expect(answer.body).toMatchObject({
        key: '127.0.0.1',
        decision: {
          allowed: true,
          outcome: 'allowed',
          policy: 'default',
          limit: 5,
          remaining: 4,
          source: stores.kind.toLowerCase(),
        },
      });
    });
  });

  describe('a refused request', () => {
    it('is answered with 429, the fields, and problem details (V3)', async () => {
      const app = appWith();
      await request(app).get('/');

      const answer = await request(app).get('/');

      expect(answer.status).toBe(429);
      expect(answer.headers).toMatchObject({
        'content-type': 'application/problem+json',
        'cache-control': 'no-store',
        'retry-after': '31',
        'ratelimit-policy': '"default";q=1;w=60',
        ratelimit: '"default";r=0;t=31',
      });
      expect(answer.text).toBe(
        `{"type":"${QUOTA}","title":"Quota Exceeded","status":429,"violated-policies":["default"]}`,
      );
    });

    it('says Too Many Requests on the status line, and keeps the connection', async () => {
      const app = appWith();
      await request(app).get('/');
      const { port, close } = await listen(app);
      const get = 'GET / HTTP/1.1\r\nHost: test\r\n';

      const text = await exchange(port, `${get}\r\n${get}Connection: close\r\n\r\n`);
      await close();

      expect(text.match(/HTTP\/1\.1 429 Too Many Requests\r\n/g)).toHaveLength(2);
    });

    it('does not reach the handler', async () => {
      const app = express();
      let handled = 0;
      app.use(rateLimit({ limit: 1, window: '1m', store: newStore() }), (_request, response) => {
        handled++;
        response.end();
      });

      for (let i = 0; i < 3; i++) await request(app).get('/');

      expect(handled).toBe(1);
    });

    it('is admitted after the seconds that Retry-After said', async () => {
      const clock = fakeClock(AT_MS);
      const app = appWith({ store: stores.store(clock) });
      await request(app).get('/');
      const refused = await request(app).get('/');

      clock.advance(Number(refused.headers['retry-after']) * 1000);
      const answer = await request(app).get('/');

      expect(answer.status).toBe(200);
    });
  });

  describe('a HEAD request', () => {
    const head = (close: boolean) => `HEAD / HTTP/1.1\r\nHost: test\r\n${close ? 'Connection: close\r\n' : ''}\r\n`;

    it('that is refused has the fields and no body (V13)', async () => {
      const { port, close } = await listen(appWith());

      const text = await exchange(port, head(false) + head(true));
      await close();

      const [, refused = ''] = text.split(/^(?=HTTP\/1\.1 )/m);
      expect(refused).toMatch(/^HTTP\/1\.1 429 /);
      expect(refused).toMatch(/^Retry-After: 31\r$/m);
      expect(refused).toMatch(/^RateLimit: "default";r=0;t=31\r$/m);
      expect(refused).toMatch(/^Content-Type: application\/problem\+json\r$/m);
      expect(refused.endsWith('\r\n\r\n')).toBe(true);
    });

    it('takes from the budget of GET', async () => {
      const app = appWith();
      await request(app).get('/');

      const answer = await request(app).head('/');

      expect(answer.status).toBe(429);
    });
  });

  it('adds the members of a second limiter to the fields of the first (V12)', async () => {
    const store = newStore();
    const app = express();
    app.use(rateLimit({ name: 'global', policy: fixedWindow({ limit: 1000, window: '1h' }), cost: 12, store }));
    app.get(
      '/',
      rateLimit({ name: 'login', policy: fixedWindow({ limit: 5, window: '300s' }), store }),
      (_request, response) => {
        response.end();
      },
    );

    const answer = await request(app).get('/');

    expect(answer.headers).toMatchObject({
      'ratelimit-policy': '"global";q=1000;w=3600, "login";q=5;w=300',
      ratelimit: '"global";r=988;t=3600, "login";r=4;t=300',
    });
  });

  it('adds the members of the limiter that refuses to the fields of the one that did not', async () => {
    const store = newStore();
    const app = express();
    app.use(rateLimit({ name: 'global', policy: tokenBucket({ capacity: 10, refill: 10, every: '60s' }), store }));
    app.use(rateLimit({ name: 'login', policy: fixedWindow({ limit: 1, window: '300s' }), store }));
    await request(app).get('/');

    const answer = await request(app).get('/');

    expect(answer.status).toBe(429);
    expect(answer.headers).toMatchObject({ ratelimit: '"global";r=8;t=6, "login";r=0;t=300', 'retry-after': '300' });
    expect(answer.text).toContain('"violated-policies":["login"]');
  });

  it('takes { limit, window } for a sliding window per address', async () => {
    const app = express();
    app.set('trust proxy', 'loopback');
    app.use(rateLimit({ limit: 2, window: '1m', store: newStore() }), (_request, response) => {
      response.end();
    });
    const get = (address: string) => request(app).get('/').set('X-Forwarded-For', address);
    await get('203.0.113.1');
    await get('203.0.113.1');

    const [third, other] = [await get('203.0.113.1'), await get('203.0.113.2')];

    expect(third.status).toBe(429);
    expect(third.headers['ratelimit-policy']).toBe('"default";q=2;w=60');
    expect(other.status).toBe(200);
  });
});

describe.each(frameworks)('$version with no store named', ({ express }) => {
  it('limits in memory', async () => {
    const app = express();
    app.use(rateLimit({ limit: 1, window: '1h' }), (_request, response) => {
      response.end();
    });

    const answers = [await request(app).get('/'), await request(app).get('/')];

    expect(answers.map(({ status }) => status)).toEqual([200, 429]);
  });
});
