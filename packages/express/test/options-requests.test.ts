import { describe, expect, it } from '@jest/globals';
import { fixedWindow, rateLimit } from '@sluice/express';
import request from 'supertest';
import { frameworks } from './frameworks.ts';

describe.each(frameworks)('on $version', ({ express }) => {
  const preflight = { Origin: 'https://shop.example', 'Access-Control-Request-Method': 'POST' };
  const limited = () => {
    const app = express();
    app.use(rateLimit({ policy: fixedWindow({ limit: 1, window: '1h' }) }), (_request, response) => {
      response.status(204).end();
    });
    return app;
  };

  it('a CORS preflight is not counted, and has no fields', async () => {
    const app = limited();

    const preflights = [await request(app).options('/').set(preflight), await request(app).options('/').set(preflight)];
    const answer = await request(app).get('/');

    for (const { status, headers } of preflights) {
      expect(status).toBe(204);
      expect(headers).not.toHaveProperty('ratelimit');
    }
    expect(answer.status).toBe(204);
  });

  it('a CORS preflight passes when the client is being refused', async () => {
    const app = limited();
    await request(app).get('/');
    await request(app).get('/').expect(429);

    const answer = await request(app).options('/').set(preflight);

    expect(answer.status).toBe(204);
  });

  it.each<[string, 'options' | 'get' | 'post', Record<string, string>]>([
    ['a bare OPTIONS', 'options', {}],
    ['an OPTIONS with an Origin alone', 'options', { Origin: 'https://shop.example' }],
    ['an OPTIONS with Access-Control-Request-Method alone', 'options', { 'Access-Control-Request-Method': 'POST' }],
    ['a preflight with a body, which no browser sends', 'options', { ...preflight, 'Content-Length': '2' }],
    ['a preflight with a body of unknown length', 'options', { ...preflight, 'Transfer-Encoding': 'chunked' }],
    ['a GET dressed as a preflight', 'get', preflight],
    ['a POST dressed as a preflight', 'post', preflight],
  ])('%s is counted', async (_what, method, fields) => {
    const app = limited();
    const send = () => {
      const sent = request(app)[method]('/').set(fields);
      if ('Transfer-Encoding' in fields) sent.write('{}');
      return 'Content-Length' in fields ? sent.send('{}') : sent;
    };
    await send();

    const answer = await send();

    expect(answer.status).toBe(429);
  });
});
