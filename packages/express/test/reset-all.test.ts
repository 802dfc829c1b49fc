import { expect, it } from '@jest/globals';
import express, { type Request } from 'express';
import request from 'supertest';
import { fixedWindow, rateLimit } from '../src/index.ts';

it('resetAll of what rateLimit() returns resets preflights too', async () => {
  const limit = rateLimit({ limit: 1, window: '1m' });
  const app = express()
    .use(limit)
    .use((_request, response) => void response.end());
  const preflight = (): Promise<number> =>
    request(app)
      .options('/')
      .set({ Origin: 'https://shop.example', 'Access-Control-Request-Method': 'GET' })
      .then(({ status }) => status);
  const get = (): Promise<number> =>
    request(app)
      .get('/')
      .then(({ status }) => status);
  expect([await get(), await get(), await preflight(), await preflight()]).toEqual([200, 429, 200, 429]);

  await limit.limiter.resetAll();

  expect([await get(), await get(), await preflight(), await preflight()]).toEqual([200, 429, 200, 429]);
});

it('resetAll resets the policies that a function has picked, whichever request it is called for', async () => {
  const plans = {
    free: fixedWindow({ name: 'free', limit: 1, window: '1m' }),
    paid: fixedWindow({ name: 'paid', limit: 2, window: '1m' }),
  };
  let last: Request | undefined;
  const limit = rateLimit({ policy: (asked) => (asked.query['plan'] === 'paid' ? plans.paid : plans.free) });
  const app = express()
    .use((asked, _response, next) => {
      last = asked;
      next();
    })
    .use(limit)
    .use((_request, response) => void response.end());
  const statuses = async (plan: string, times: number): Promise<readonly number[]> => {
    const found: number[] = [];
    for (let i = 0; i < times; i++) found.push((await request(app).get(`/?plan=${plan}`)).status);
    return found;
  };
  expect([...(await statuses('paid', 3)), ...(await statuses('free', 2))]).toEqual([200, 200, 429, 200, 429]);

  await (await limit.limiterFor(last as Request)).resetAll();

  expect([...(await statuses('paid', 3)), ...(await statuses('free', 2))]).toEqual([200, 200, 429, 200, 429]);
});
