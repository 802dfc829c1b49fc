import { afterEach, describe, expect, it, jest } from '@jest/globals';
import {
  RateLimit,
  RateLimitError,
  createLimiter,
  fixedWindow,
  memoryStore,
  rateLimit,
  type RateLimitOptions,
} from '@sluice/express';
import { fakeClock } from '@sluice/core/testing';
import type { ErrorRequestHandler, NextFunction, Request, RequestHandler, Response } from 'express';
import request from 'supertest';
import { frameworks } from './frameworks.ts';

const policy = fixedWindow({ limit: 4, window: '1h' });
const once = fixedWindow({ limit: 1, window: '1h' });
const ok: RequestHandler = (_request, response) => {
  response.end();
};

afterEach(() => {
  jest.restoreAllMocks();
});

describe.each(frameworks)('on $version', ({ express }) => {
  /** An application with these middleware, a handler, and an error handler that hands over what it gets. */
  const serve = (...middleware: readonly RequestHandler[]) => {
    const errors: unknown[] = [];
    const app = express();
    for (const one of middleware) app.use(one);
    app.use(ok);
    const onError: ErrorRequestHandler = (error, _request, response, _next) => {
      errors.push(error);
      response.status(418).end();
    };
    return { app: app.use(onError), errors };
  };

  it.each<[string, readonly RequestHandler[], string]>([
    [
      'one middleware that is mounted several times counts a request once',
      mountedTwice(express),
      '"default";r=3;t=3600',
    ],
    ['two middleware of one limiter count it twice', twoOfOne(), '"default";r=3;t=3600, "default";r=2;t=3600'],
    [
      'two middleware with one name that share it count it twice',
      twoShared(),
      '"default";r=3;t=3600, "default";r=2;t=3600',
    ],
  ])('%s', async (_title, middleware, state) => {
    const answer = await request(serve(...middleware).app).get('/');

    expect(answer.headers['ratelimit']).toBe(state);
  });

  it('throw: true passes a denial to the error handler, with the header fields of all limiters', async () => {
    const store = memoryStore({ clock: fakeClock() });
    const outer = rateLimit({ name: 'outer', policy, store });
    const { app, errors } = serve(outer, rateLimit({ name: 'inner', policy: once, throw: true, store }));
    await request(app).get('/');

    const answer = await request(app).get('/');

    expect([answer.status, answer.headers['retry-after']]).toEqual([418, '3600']);
    expect(errors).toEqual([expect.any(RateLimitError)]);
    expect(errors[0]).toMatchObject({
      ...{ code: 'SLUICE_DENIED', status: 429, statusCode: 429, expose: true },
      headers: { RateLimit: '"outer";r=2;t=3600, "inner";r=0;t=3600' },
    });
  });

  it.each<[string, Partial<RateLimitOptions>]>([
    ['key', { key: fail }],
    ['onDenied, later', { cost: 5, onDenied: failLater }],
  ])('what a function throws reaches the error handler as it is: %s', async (_option, options) => {
    const { app, errors } = serve(rateLimit({ policy, ...options } as RateLimitOptions));

    const answer = await request(app).get('/');

    expect(answer.status).toBe(418);
    expect(errors).toEqual([new TypeError('of the user')]);
  });
});

it('an application that trusts every proxy is warned of once, however many requests and limits it has', async () => {
  const emitWarning = jest.spyOn(process, 'emitWarning').mockImplementation(() => {});

  for (const { express } of frameworks) {
    const app = express().set('trust proxy', true).use(rateLimit({ policy }), rateLimit({ policy }), ok);
    for (let i = 0; i < 2; i++) await request(app).get('/');
  }

  expect(emitWarning.mock.calls).toEqual([
    [expect.stringContaining('X-Forwarded-For'), expect.objectContaining({ code: 'SLUICE_PROXY_TRUSTS_ALL' })],
  ]);
});

function fail(): never {
  throw new TypeError('of the user');
}
async function failLater(): Promise<never> {
  await new Promise(setImmediate);
  throw new TypeError('of the user');
}

function mountedTwice(express: (typeof frameworks)[number]['express']): readonly RequestHandler[] {
  const limit = rateLimit({ policy });
  return [limit, limit, express.Router().use(limit)];
}
function twoOfOne(): readonly RequestHandler[] {
  const limiter = createLimiter({ policy });
  return [rateLimit({ limiter }), rateLimit({ limiter })];
}
function twoShared(): readonly RequestHandler[] {
  const store = memoryStore();
  return [rateLimit({ policy, store, shared: true }), rateLimit({ policy, store, shared: true })];
}

// Decorators of TC39; decorator.legacy.test.ts has those of TypeScript's experimentalDecorators.

const nine = fixedWindow({ limit: 9, window: '1h' });

describe.each(frameworks)('@RateLimit() on $version', ({ express }) => {
  it('limits a method that is called without an instance', async () => {
    class Orders {
      @RateLimit({ limit: 1, window: '1m' })
      list(_request: Request, response: Response): void {
        response.end();
      }
    }

    const app = express().get('/', Orders.prototype.list);

    expect([(await request(app).get('/')).status, (await request(app).get('/')).status]).toEqual([200, 429]);
  });

  /** The status, text and policies of the answers of two requests to a handler. */
  const twice = async (...handlers: readonly RequestHandler[]) => {
    const answers = [];
    for (const handler of [...handlers, ...handlers].slice(0, 2)) {
      const answer = await request(express().use(handler)).get('/');
      answers.push([answer.status, answer.text, answer.headers['ratelimit-policy'] as unknown]);
    }
    return answers;
  };
  const denied = (name: string) => [429, expect.stringContaining(`["${name}"]`), `"${name}";q=1;w=3600`];

  it('limits a method, bound or taken off its object, under the name of its class and its own', async () => {
    class Orders {
      @RateLimit({ policy: once })
      list(asked: Request, response: Response): void {
        response.send(`${typeof this} ${asked.rateLimit?.key as string}`);
      }
    }
    const orders = new Orders();

    expect(await twice(orders.list.bind(orders), orders.list)).toEqual([
      [200, 'object 127.0.0.1', '"Orders.list";q=1;w=3600'],
      denied('Orders.list'),
    ]);
    expect(await twice(new Orders().list)).toEqual([denied('Orders.list'), denied('Orders.list')]);
  });

  it('limits an inherited method with all subclasses, and an overriding one beside the one that it calls', async () => {
    const store = memoryStore();
    class Base {
      @RateLimit({ policy: nine, store })
      list(asked: Request, response: Response): void {
        response.send(String(asked.rateLimit?.decision.remaining));
      }
    }
    class One extends Base {}
    class Two extends Base {}
    class Special extends Base {
      @RateLimit({ policy: nine, store })
      override list(asked: Request, response: Response): void {
        super.list(asked, response);
      }
    }
    const special = new Special();

    expect(await twice(new One().list, new Two().list)).toEqual([
      [200, '8', '"Base.list";q=9;w=3600'],
      [200, '7', '"Base.list";q=9;w=3600'],
    ]);
    expect((await twice(special.list.bind(special)))[0]).toEqual([
      ...[200, '6', '"Special.list";q=9;w=3600, "Base.list";q=9;w=3600'],
    ]);
  });

  it('passes what the method or a function throws to the error handler', async () => {
    class Orders {
      @RateLimit({ policy: once })
      now(_request: Request, _response: Response, _next: NextFunction): void {
        fail();
      }

      @RateLimit({ policy: once })
      async later(_request: Request, _response: Response, _next: NextFunction): Promise<void> {
        await Promise.reject(new TypeError('of the user'));
      }

      @RateLimit({ policy: once, key: fail })
      keyless(_request: Request, _response: Response, _next: NextFunction): void {
        throw new Error('was called');
      }
    }
    const orders = new Orders();
    const errors: unknown[] = [];

    for (const handler of [orders.now, orders.later, orders.keyless]) {
      const app = express().use(
        handler,
        (error: unknown, _request: Request, response: Response, _next: NextFunction) => {
          errors.push(error);
          response.end();
        },
      );
      await request(app).get('/');
    }

    expect(errors).toEqual(new Array(3).fill(new TypeError('of the user')));
  });

  it('returns what the method returns, and rejects with what it throws, without next', async () => {
    class Orders {
      @RateLimit({ policy: nine })
      list({ path }: Request, _response: Response): unknown {
        return path === '/fails' ? fail() : 'answered';
      }
    }
    const { list } = new Orders();
    const seen: unknown[] = [];
    const app = express().use(async (asked, response) => {
      seen.push(await Promise.resolve(list(asked, response)).catch((error: unknown) => error));
      response.end();
    });

    for (const path of ['/works', '/fails']) await request(app).get(path);

    expect(seen).toEqual(['answered', new TypeError('of the user')]);
  });
});

describe('@RateLimit() with bad options', () => {
  const define = (options: unknown) => () => {
    class Orders {
      @RateLimit(options as never)
      list(_request: Request, response: Response): void {
        response.end();
      }
    }
    return Orders;
  };

  it('fails when the class is defined, and takes no name on the store', () => {
    const options = { name: 'orders', window: '1m', store: memoryStore() };

    expect(define({ ...options, limit: 5, cors: 1 })).toThrow('cors must be true or false');
    expect(define({ ...options, limit: 0.5 })).toThrow('limit must be a whole number');
    expect(() => new (define({ ...options, limit: 5 })())()).not.toThrow();
  });

  it('denies what is no method', () => {
    const decorate = RateLimit({ policy: once }) as unknown as (value: unknown, context: unknown) => unknown;

    for (const kind of ['class', 'field']) {
      expect(() => decorate(Date, { kind, name: 'x' })).toThrow('@RateLimit() goes on a method of a class');
    }
  });
});
