import { describe, expect, it } from '@jest/globals';
import { byHeader, byIp, fixedWindow, rateLimit, redisStore, memoryStore, type Store } from '@sluice/express';
import { useRedis } from '@sluice/testkit';
import request from 'supertest';
import { frameworks } from './frameworks.ts';

const policy = fixedWindow({ limit: 3, window: '1h' });

describe.each(frameworks)('a login handler on $version', ({ version, express }) => {
  const redis = useRedis();

  it.each<[string, () => Store]>([
    ['memory', () => memoryStore()],
    ['Redis', () => redisStore(redis.client, { prefix: `sluice:${version.replace(' ', '')}` })],
  ])('resets over %s what its own middleware counts, for this client alone', async (_kind, newStore) => {
    const app = express();
    app.set('trust proxy', 'loopback');
    const limit = rateLimit({ policy, key: [byIp(), byHeader('x-account')], store: newStore(), timeoutMs: 60_000 });
    app.post('/login', limit, (req, response, next) => {
      if (req.get('x-password') !== 'good') {
        response.status(401).end();
        return;
      }
      limit
        .keyFor(req)
        .then((key) => limit.limiter.reset(key))
        .then(() => response.json(req.rateLimit?.key), next);
    });
    const login = async (account: string, password: string): Promise<number> => {
      const sent = request(app).post('/login').set('X-Account', account).set('X-Password', password);
      return (await sent).status;
    };
    const other = [await login('bob', 'bad'), await login('bob', 'bad')];

    const first = [await login('ann', 'bad'), await login('ann', 'bad'), await login('ann', 'good')];
    const second = [await login('ann', 'bad'), await login('ann', 'bad'), await login('ann', 'bad')];
    const denied = [await login('ann', 'good'), await login('bob', 'bad'), await login('bob', 'good')];

    expect([...other, ...first]).toEqual([401, 401, 401, 401, 200]);
    expect(second).toEqual([401, 401, 401]);
    expect(denied).toEqual([429, 401, 429]);
  });

  it('finds its keys by limit where there are several, and may block one', async () => {
    const app = express();
    const limit = rateLimit({
      limits: [
        { name: 'address', policy: fixedWindow({ limit: 100, window: '1h' }), key: byIp() },
        { name: 'account', policy, key: byHeader('x-account') },
      ],
    });
    app.post('/login', limit, (req, response, next) => {
      limit
        .keyFor(req)
        .then(async (keys) => {
          await limit.limiter.block({ account: keys['account'] }, '1h');
          response.json(keys);
        })
        .catch(next);
    });
    const login = (account: string) => request(app).post('/login').set('X-Account', account);

    const answers = [await login('ann'), await login('ann'), await login('bob')];

    expect(answers[0]?.body).toEqual({ address: '127.0.0.1', account: 'ann' });
    expect(answers.map(({ status }) => status)).toEqual([200, 429, 200]);
  });

  it('is told that a request has no key', async () => {
    const app = express();
    const limit = rateLimit({ policy, key: byHeader('x-account'), onMissingKey: 'skip' });
    app.post('/login', limit, (req, response) => {
      limit.keyFor(req).catch((error: unknown) => response.json(error));
    });

    const answer = await request(app).post('/login');

    expect(answer.body).toMatchObject({ code: 'SLUICE_KEY_INVALID' });
  });
});
