import { expect, it, describe } from '@jest/globals';
import { RateLimit, createLimiter, fixedWindow, memoryStore, rateLimit } from '@sluice/express';
import { useServers, useWarnings } from '@sluice/testkit';
import type { ErrorRequestHandler, NextFunction, Request, RequestHandler, Response } from 'express';
import { frameworks } from './frameworks.ts';

const [serve, warnings] = [useServers(), useWarnings()];
const policy = fixedWindow({ limit: 4, window: '1h' });
const ok: RequestHandler = (_request, response) => {
  response.end();
};
function fail(): never {
  throw new TypeError('of the user');
}

class Orders {
  @RateLimit({ policy, key: fail })
  list(_request: Request, response: Response, _next: NextFunction): void {
    response.end();
  }
}

const [limit, limiter, store] = [rateLimit({ policy }), createLimiter({ policy }), memoryStore()];
const shared = { policy, store, shared: true };

describe.each(frameworks)('on $version', ({ express }) => {
  it.each<[string, readonly RequestHandler[], number]>([
    ['one middleware that is mounted several times counts a request once', [limit, limit], 1],
    ['two middleware of one limiter count it twice', [rateLimit({ limiter }), rateLimit({ limiter })], 2],
    ['two middleware with one name that share it count it twice', [rateLimit(shared), rateLimit(shared)], 2],
  ])('%s', async (_title, middleware, count) => {
    const app = express().use(...middleware, express.Router().use(...middleware), ok);

    const { headers } = await (await serve(app)).ask();

    expect(headers['ratelimit']?.split(', ')).toHaveLength(count);
  });

  it.each<[string, RequestHandler]>([
    ['a function of the options', rateLimit({ policy, key: fail })],
    ['a limited method, or a function of its options', new Orders().list],
  ])('what %s throws reaches the error handler as it is', async (_what, handler) => {
    const errors: unknown[] = [];
    const onError: ErrorRequestHandler = (error, _request, response, _next) => {
      errors.push(error);
      response.end();
    };

    await (await serve(express().use(handler, onError))).ask();

    expect(errors).toEqual([new TypeError('of the user')]);
  });
});

it('an application that trusts every proxy is warned of', async () => {
  for (const { express } of frameworks) {
    await (await serve(express().set('trust proxy', true).use(rateLimit({ policy }), ok))).ask();
  }

  expect(warnings()).toMatchObject([
    { code: 'SLUICE_PROXY_TRUSTS_ALL', message: expect.stringContaining('X-Forwarded-For') },
  ]);
});
