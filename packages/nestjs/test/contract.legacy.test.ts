import type { IncomingMessage, ServerResponse } from 'node:http';
import { Stream } from 'node:stream';
import {
  All,
  Controller,
  Delete,
  Get,
  NotFoundException,
  Post,
  Put,
  Req,
  Res,
  applyDecorators,
  type INestApplication,
  type Type,
} from '@nestjs/common';
import {
  RateLimit,
  RateLimitModule,
  SkipRateLimit,
  type NestRequest,
  type NestResponse,
  type RateLimitOptions,
} from '@sluice/nestjs';
import {
  describeAdapter,
  type Answer,
  type App,
  type Limit,
  type Listening,
  type Route,
} from '@sluice/testkit/contract';
import { serve, type Platform, type RootModule } from './serve.ts';

const answer = (response: NestResponse, { status = 200, body }: Answer): unknown => response.status(status).send(body);

const STACKED = { 'limits one behind the other': 'those of module and method are one decision' };

async function run(platform: Platform, app: App, http2 = false): Promise<Listening> {
  const { before = {}, trustLoopback = false, users = false, methodOverride } = app;
  const prepare = (nest: INestApplication): unknown =>
    nest.use((request: IncomingMessage, response: ServerResponse, next: () => void) => {
      for (const [name, value] of Object.entries(before)) response.setHeader(name, value);
      const { 'x-user': id, 'x-http-method-override': method } = request.headers;
      if (users && id !== undefined) Object.assign(request, { user: { id } });
      if (methodOverride === 'before' && typeof method === 'string') request.method = method;
      next();
    });
  return serve(platform, rootOf(platform, app), { trustLoopback, http2, prepare });
}

/** The limit of the application stands in `forRoot`. */
function rootOf(platform: Platform, { limits = [], routes }: App): RootModule {
  const [limit, ...more] = limits;
  if (more.length > 0) throw new Error('the module has one limit: with `limits`, a scenario may ask for several');
  return {
    imports: [RateLimitModule.forRoot((limit ?? {}) as object)],
    controllers: [...routes.map((route) => controllerOf(route, limit)), elsewhere(platform)],
  };
}

/** The last of the controllers: leads the requests that match no route to the guard. */
function elsewhere(platform: Platform): Type {
  @Controller()
  class Elsewhere {
    @All(platform === 'Express' ? '{*path}' : '*')
    answer(): never {
      throw new NotFoundException();
    }
  }
  return Elsewhere;
}

const verbs = { GET: Get, POST: Post, PUT: Put, DELETE: Delete };

/** A class with one handler. */
function controllerOf({ method, path, limit, handle }: Route, outer: Limit | undefined): Type {
  const decorators: MethodDecorator[] = [];
  // A limit of a handler has the name of the handler; scenarios expect that of an application.
  const named = limit?.limiter === undefined && outer === undefined ? { name: 'default', ...limit } : limit;
  if (limit !== undefined) decorators.push(RateLimit(named as object as RateLimitOptions));
  // Limits that act together count in one store. If a scenario has another, the limit stands alone.
  if (limit?.store !== undefined && outer !== undefined && limit.store !== outer.store) {
    decorators.push(SkipRateLimit(outer.name ?? 'default'));
  }
  @Controller()
  class Suite {
    @(verbs[method](path))
    @applyDecorators(...decorators)
    async handle(@Req() request: NestRequest, @Res() response: NestResponse): Promise<void> {
      const { status = 200, headers = {}, body = '', stream } = await handle(request);
      response.status(status);
      for (const [name, value] of Object.entries(headers)) response.header(name, value);
      if (stream !== undefined && response instanceof Stream) stream.pipe(response as object as NodeJS.WritableStream);
      else response.send(stream ?? body);
    }
  }
  return Suite;
}

describeAdapter({
  name: 'NestJS on Express',
  start: (app) => run('Express', app),
  answer,
  impossible: { ...STACKED, 'a method override after': 'the guard decides after all middleware' },
});

// Fastify routes before any middleware runs, so that no middleware changes a request's method.
describeAdapter({
  name: 'NestJS on Fastify',
  start: (app) => run('Fastify', app),
  answer,
  startHttp2: (app) => run('Fastify', app, true),
  impossible: {
    ...STACKED,
    'a method override': 'Fastify routes before any middleware',
    'a limit of an application counts a preflight with a body':
      'Fastify answers a body without a type with 415, ahead of guards',
  },
});
