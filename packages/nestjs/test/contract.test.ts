import { Stream } from 'node:stream';
import { All, Controller, Delete, Get, NotFoundException, Post, Put, Req, Res } from '@nestjs/common';
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
  type AnyRequest,
  type App,
  type Impossible,
  type Limit,
  type Route,
  type RunningApp,
} from '@sluice/testkit/contract';
import { serve, type Platform, type RootModule } from './serve.ts';

type Handler = (request: AnyRequest & { method: string }, response: object, next: () => void) => void;

const answer = (response: NestResponse, { status = 200, body }: Answer): unknown => response.status(status).send(body);

const TARGETS = [
  'does not escape the limit of PUT',
  'does not escape the limit of POST',
  'gives no second budget for a path with both methods',
];
const STACKED = {
  'limits one behind the other decide each for itself, the outer one first':
    'those of module and method are one decision',
};
const overrides = (when: 'before' | 'after', why: string): Impossible =>
  Object.fromEntries(TARGETS.map((target) => [`a method override ${when} the limiter ${target} (B2)`, why]));

async function run(platform: Platform, suiteApp: App, http2 = false): Promise<RunningApp> {
  const { before, trustLoopback = false, users = false, methodOverride } = suiteApp;
  const { port, close } = await serve(platform, rootOf(platform, suiteApp), {
    trustLoopback,
    http2,
    prepare: (nest) => {
      const use = (middleware: Handler): unknown => nest.use(middleware);
      if (before !== undefined) {
        use((_request, response, next) => {
          for (const [name, value] of Object.entries(before)) (response as Setter).setHeader(name, value);
          next();
        });
      }
      if (users) {
        use((request, _response, next) => {
          const id = (request.headers as Headers)['x-user'];
          if (id !== undefined) Object.assign(request, { user: { id } });
          next();
        });
      }
      if (methodOverride === 'before') use(overrideMethod);
    },
  });
  return { port, close };
}

/** Of Node. */
type Headers = Readonly<Record<string, string | readonly string[] | undefined>>;

interface Setter {
  setHeader(name: string, value: string): unknown;
}

const overrideMethod: Handler = (request, _response, next) => {
  const given = (request.headers as Headers)['x-http-method-override'];
  if (typeof given === 'string') request.method = given;
  next();
};

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
function elsewhere(platform: Platform): new () => object {
  class Elsewhere {
    answer(): never {
      throw new NotFoundException();
    }
  }
  const { prototype } = Elsewhere;
  const descriptor = Object.getOwnPropertyDescriptor(prototype, 'answer') as TypedPropertyDescriptor<unknown>;
  Controller()(Elsewhere);
  All(platform === 'Express' ? '{*path}' : '*')(prototype, 'answer', descriptor);
  return Elsewhere;
}

const verbs = { GET: Get, POST: Post, PUT: Put, DELETE: Delete };

/** A class with one handler, decorated by hand. */
function controllerOf({ method, path, limit, handle }: Route, outer: Limit | undefined): new () => object {
  class Suite {
    async handle(request: NestRequest, response: NestResponse): Promise<void> {
      const { method: asked, headers, body, rateLimit } = request;
      const answer = await handle({ method: asked, headers, body, rateLimit });
      response.status(answer.status ?? 200);
      for (const [name, value] of Object.entries(answer.headers ?? {})) response.header(name, value);
      if (answer.stream === undefined) response.send(answer.body ?? '');
      else if (response instanceof Stream) answer.stream.pipe(response as object as NodeJS.WritableStream);
      else response.send(answer.stream);
    }
  }
  const { prototype } = Suite;
  const descriptor = Object.getOwnPropertyDescriptor(prototype, 'handle') as TypedPropertyDescriptor<unknown>;
  Controller()(Suite);
  verbs[method](path)(prototype, 'handle', descriptor);
  Req()(prototype, 'handle', 0);
  Res()(prototype, 'handle', 1);
  // A limit of a handler has the name of the handler; scenarios expect that of an application.
  const named = limit?.limiter === undefined && outer === undefined ? { name: 'default', ...limit } : limit;
  if (limit !== undefined) RateLimit(named as object as RateLimitOptions)(prototype, 'handle', descriptor);
  // Limits that act together count in one store. If a scenario has another, the limit stands alone.
  if (limit?.store !== undefined && outer !== undefined && limit.store !== outer.store) {
    SkipRateLimit(outer.name ?? 'default')(prototype, 'handle', descriptor);
  }
  return Suite;
}

describeAdapter({
  name: 'NestJS on Express',
  start: (app) => run('Express', app),
  answer,
  impossible: { ...STACKED, ...overrides('after', 'the guard decides after all middleware') },
});

// Fastify routes before any middleware runs, so that no middleware changes a request's method.
describeAdapter({
  name: 'NestJS on Fastify',
  start: (app) => run('Fastify', app),
  answer,
  startHttp2: (app) => run('Fastify', app, true),
  impossible: {
    ...STACKED,
    ...overrides('before', 'Fastify routes before any middleware'),
    ...overrides('after', 'Fastify routes before any middleware'),
    ...Object.fromEntries(
      ['a preflight with a body', 'a preflight with a body of unknown length'].map((what) => [
        `a limit of an application counts ${what} (B4)`,
        'Fastify answers a body without a type with 415, ahead of guards',
      ]),
    ),
  },
});
