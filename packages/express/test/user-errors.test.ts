import { describe, expect, it } from '@jest/globals';
import { byIp, fixedWindow, rateLimit, type RateLimitOptions } from '@sluice/express';
import request from 'supertest';
import { frameworks } from './frameworks.ts';
import { tellError } from './on-error.ts';

const policy = fixedWindow({ limit: 1, window: '1h' });
const fail = (): never => {
  throw new TypeError('of the user');
};
const failLater = async (): Promise<never> => {
  await new Promise(setImmediate);
  throw new TypeError('of the user');
};

describe.each(frameworks)('what a function of the user throws, on $version,', ({ express }) => {
  const appWith = (options: Partial<RateLimitOptions>) => {
    const app = express();
    app.use(rateLimit({ policy, ...options } as RateLimitOptions), (_request, response) => {
      response.send('handled');
    });
    app.use(tellError);
    return app;
  };

  it.each<[string, Partial<RateLimitOptions>]>([
    ['key', { key: fail }],
    ['one part of the key, later', { key: [failLater, byIp(), failLater] }],
    ['onDenied', { onDenied: fail }],
    ['onDenied, later', { onDenied: failLater }],
  ])('reaches the error handler as it is: %s', async (_option, options) => {
    const app = appWith(options);
    await request(app).get('/');

    const answer = await request(app).get('/');

    expect(answer.status).toBe(500);
    expect(answer.body).toMatchObject({ name: 'TypeError', message: 'of the user' });
  });

  it('keeps the functions after it from being asked: nothing of theirs fails unheard', async () => {
    const asked: string[] = [];
    const note = (name: string) => async () => {
      asked.push(name);
      return failLater();
    };
    const app = express();
    app.use(
      rateLimit({
        limits: [
          { name: 'a', policy, key: [note('first'), note('second')] },
          { name: 'b', policy, key: note('third'), cost: note('fourth') },
        ],
      }),
    );
    app.use(tellError);

    const answer = await request(app).get('/');

    expect(answer.status).toBe(500);
    expect(asked).toEqual(['first']);
  });
});
