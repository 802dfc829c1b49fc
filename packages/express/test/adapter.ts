import { rateLimit, type RateLimitOptions } from '@sluice/express';
import { listen, type AdapterUnderTest, type App, type Limit, type Route } from '@sluice/testkit/contract';
import type { Express, Request, RequestHandler, Response } from 'express';
import { frameworks } from './frameworks.ts';

/** Express 5 and 4, as the contract starts them. */
export const [express5, express4] = frameworks.map(({ version, express }): AdapterUnderTest => ({
  name: version,
  start: async (app) => listen(appOf(express(), app)),
  answer(response: Response, { status = 200, body }) {
    response.status(status).send(body);
  },
})) as [AdapterUnderTest, AdapterUnderTest];

function appOf(app: Express, { limits = [], routes, before, trustLoopback, users, methodOverride }: App): Express {
  const limiterOf = (options: Limit): RequestHandler => rateLimit(options as unknown as RateLimitOptions);
  if (trustLoopback === true) app.set('trust proxy', 'loopback');
  if (before !== undefined) {
    app.use((_request, response, next) => {
      response.set(before);
      next();
    });
  }
  if (users === true) {
    app.use((request, _response, next) => {
      const id = request.get('x-user');
      if (id !== undefined) Object.assign(request, { user: { id } });
      next();
    });
  }
  if (methodOverride === 'before') app.use(overrideMethod);
  for (const limit of limits) app.use(limiterOf(limit));
  if (methodOverride === 'after') app.use(overrideMethod);
  for (const route of routes) {
    const method = route.method.toLowerCase() as 'get';
    app[method](route.path, ...(route.limit === undefined ? [] : [limiterOf(route.limit)]), handlerOf(route));
  }
  return app;
}

const overrideMethod: RequestHandler = (request, _response, next) => {
  request.method = request.get('x-http-method-override') ?? request.method;
  next();
};

function handlerOf({ handle }: Route): RequestHandler {
  return (request, response, next) => {
    const { method, headers, rateLimit: info } = request;
    const body: unknown = (request as Request & { body?: unknown }).body;
    Promise.resolve()
      .then(() => handle({ method, headers, body, rateLimit: info }))
      .then((answer) => {
        response.status(answer.status ?? 200).set(answer.headers ?? {});
        if (answer.stream === undefined) response.send(answer.body ?? '');
        else answer.stream.pipe(response);
      })
      .catch(next);
  };
}
