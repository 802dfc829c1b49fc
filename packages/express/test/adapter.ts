import { rateLimit, type RateLimitOptions } from '@sluice/express';
import { listen, type AdapterUnderTest, type App, type Limit, type Route } from '@sluice/testkit/contract';
import type { Express, RequestHandler, Response } from 'express';
import { frameworks } from './frameworks.ts';

/** Express 5 and 4, as the contract starts them. */
export const [express5, express4] = frameworks.map(({ version, express }): AdapterUnderTest => ({
  name: version,
  start: async (app) => listen(appOf(express(), app)),
  answer(response: Response, { status = 200, body }) {
    response.status(status).send(body);
  },
})) as [AdapterUnderTest, AdapterUnderTest];

function appOf(
  app: Express,
  { limits = [], routes, before = {}, trustLoopback = false, users = false, methodOverride }: App,
): Express {
  const limiterOf = (options: Limit): RequestHandler => rateLimit(options as unknown as RateLimitOptions);
  if (trustLoopback) app.set('trust proxy', 'loopback');
  app.use((request, response, next) => {
    response.set(before);
    const id = request.get('x-user');
    if (users && id !== undefined) Object.assign(request, { user: { id } });
    next();
  });
  if (methodOverride === 'before') app.use(overrideMethod);
  for (const limit of limits) app.use(limiterOf(limit));
  if (methodOverride === 'after') app.use(overrideMethod);
  for (const route of routes) {
    const method = route.method.toLowerCase() as 'get';
    const limiters = route.limit === undefined ? [] : [limiterOf(route.limit)];
    app[method](route.path, ...limiters, handlerOf(route));
  }
  return app;
}

const overrideMethod: RequestHandler = (request, _response, next) => {
  request.method = request.get('x-http-method-override') ?? request.method;
  next();
};

function handlerOf({ handle }: Route): RequestHandler {
  return (request, response, next) => {
    Promise.resolve()
      .then(() => handle(request))
      .then(({ status = 200, headers = {}, body = '', stream }) => {
        response.status(status).set(headers);
        if (stream === undefined) response.send(body);
        else stream.pipe(response);
      })
      .catch(next);
  };
}
