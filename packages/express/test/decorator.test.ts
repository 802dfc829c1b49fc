/* eslint-disable @typescript-eslint/no-extraneous-class -- what is decorated may be static */
import { describe, expect, it } from '@jest/globals';
import { RateLimit, byHeader, fixedWindow, memoryStore, tokenBucket, type Store } from '@sluice/express';
import type { NextFunction, Request, RequestHandler, Response } from 'express';
import request from 'supertest';
import { frameworks } from './frameworks.ts';
import { tellError } from './on-error.ts';

// Decorators as TC39 has them; decorator.legacy.test.ts holds the same for TypeScript's experimentalDecorators.

const once = fixedWindow({ limit: 1, window: '1h' });

describe.each(frameworks)('@RateLimit() on $version', ({ express }) => {
  const appOf = (handlers: Record<string, RequestHandler>) => {
    const app = express();
    for (const [path, handler] of Object.entries(handlers)) app.get(path, handler);
    app.use(tellError);
    return app;
  };

  it('limits an instance method, under the name of its class and its own', async () => {
    class Orders {
      readonly greeting = 'hello';
      @RateLimit({ policy: once })
      list(req: Request, response: Response): void {
        response.send(`${this.greeting} ${JSON.stringify(req.rateLimit?.key)}`);
      }
    }
    const orders = new Orders();
    const app = appOf({ '/': orders.list.bind(orders) });

    const answers = [await request(app).get('/'), await request(app).get('/')];

    expect(answers.map(({ status }) => status)).toEqual([200, 429]);
    expect(answers[0]?.text).toBe('hello "127.0.0.1"');
    expect(answers[0]?.headers['ratelimit-policy']).toBe('"Orders.list";q=1;w=3600');
    expect(answers[1]?.text).toContain('"violated-policies":["Orders.list"]');
  });

  it('limits a bound handler and one that was taken off its object against one budget', async () => {
    class Orders {
      @RateLimit({ policy: once })
      list(_request: Request, response: Response): void {
        response.json(this instanceof Orders);
      }
    }
    const orders = new Orders();
    const app = appOf({ '/bound': orders.list.bind(orders), '/unbound': orders.list });

    const answers = [await request(app).get('/bound'), await request(app).get('/unbound')];

    expect(answers[0]?.body).toBe(true);
    expect(answers[1]?.status).toBe(429);
  });

  it('runs an unbound handler without its object', async () => {
    class Orders {
      @RateLimit({ policy: once })
      list(_request: Request, response: Response): void {
        response.json({ that: typeof this });
      }
    }
    const app = appOf({ '/': new Orders().list });

    const answer = await request(app).get('/');

    expect(answer.body).toEqual({ that: 'undefined' });
    expect(answer.headers['ratelimit-policy']).toBe('"Orders.list";q=1;w=3600');
  });

  it('limits a static method', async () => {
    class Reports {
      @RateLimit({ policy: once })
      static daily(_request: Request, response: Response): void {
        response.end();
      }
    }
    const app = appOf({ '/': Reports.daily });

    const answers = [await request(app).get('/'), await request(app).get('/')];

    expect(answers[0]?.headers['ratelimit-policy']).toBe('"Reports.daily";q=1;w=3600');
    expect(answers[1]?.status).toBe(429);
  });

  it('limits an inherited method under the class that has it, for all of its subclasses and instances together', async () => {
    class Base {
      @RateLimit({ policy: fixedWindow({ limit: 2, window: '1h' }) })
      list(_request: Request, response: Response): void {
        response.end();
      }
    }
    class One extends Base {}
    class Two extends Base {}
    const [one, two, other] = [new One(), new Two(), new One()];
    const app = appOf({
      '/one': one.list.bind(one),
      '/two': two.list.bind(two),
      '/other': other.list.bind(other),
    });

    const answers = [await request(app).get('/one'), await request(app).get('/two'), await request(app).get('/other')];

    expect(answers.map(({ status }) => status)).toEqual([200, 200, 429]);
    expect(answers[0]?.headers['ratelimit-policy']).toBe('"Base.list";q=2;w=3600');
  });

  it('gives an overriding method a budget and a name of its own, beside the one it calls', async () => {
    const store = memoryStore();
    class Base {
      @RateLimit({ policy: once, store })
      list(_request: Request, response: Response): unknown {
        return response.end();
      }
    }
    class Special extends Base {
      @RateLimit({ policy: once, store })
      override list(req: Request, response: Response): unknown {
        return super.list(req, response);
      }
    }
    const special = new Special();
    const app = appOf({ '/': special.list.bind(special) });

    const answer = await request(app).get('/');

    expect(answer.headers['ratelimit-policy']).toBe('"Special.list";q=1;w=3600, "Base.list";q=1;w=3600');
  });

  it('gives two methods budgets of their own on one store', async () => {
    const store = memoryStore();
    class Orders {
      @RateLimit({ policy: once, store })
      list(_request: Request, response: Response): void {
        response.end();
      }

      @RateLimit({ policy: once, store })
      create(_request: Request, response: Response): void {
        response.end();
      }
    }
    const orders = new Orders();
    const app = appOf({ '/list': orders.list, '/create': orders.create });

    const answers = [
      await request(app).get('/list'),
      await request(app).get('/create'),
      await request(app).get('/list'),
    ];

    expect(answers.map(({ status }) => status)).toEqual([200, 200, 429]);
    expect(answers[1]?.headers['ratelimit-policy']).toBe('"Orders.create";q=1;w=3600');
  });

  it('takes another name, another key and every other option', async () => {
    class Orders {
      @RateLimit({
        name: 'mine',
        policy: tokenBucket({ capacity: 2, refill: 1, every: '1h' }),
        key: byHeader('x-key'),
        cost: 2,
        headers: 'draft-7',
      })
      list(req: Request, response: Response): void {
        response.json(req.rateLimit?.decision.policy);
      }
    }
    const app = appOf({ '/': new Orders().list });

    const answers = [
      await request(app).get('/').set('X-Key', 'a'),
      await request(app).get('/').set('X-Key', 'b'),
      await request(app).get('/').set('X-Key', 'a'),
    ];

    expect(answers.map(({ status }) => status)).toEqual([200, 200, 429]);
    expect(answers[0]?.body).toBe('mine');
    expect(answers[0]?.headers['ratelimit']).toBe('limit=2, remaining=0, reset=7200');
  });

  it('limits methods whose names are no names for a limiter', async () => {
    const secret = Symbol('secret list');
    class Orders {
      @RateLimit({ policy: once })
      [secret](_request: Request, response: Response): void {
        response.end();
      }

      @RateLimit({ policy: once })
      'größe/€'(_request: Request, response: Response): void {
        response.end();
      }
    }
    const orders = new Orders();
    const app = appOf({ '/symbol': orders[secret], '/text': orders['größe/€'] });

    const answers = [await request(app).get('/symbol'), await request(app).get('/text')];

    expect(answers.map(({ headers }) => headers['ratelimit-policy'] as unknown)).toEqual([
      '"Orders.secret-list";q=1;w=3600',
      '"Orders.gr--e--";q=1;w=3600',
    ]);
  });

  it('limits a private method', async () => {
    class Orders {
      handler(): RequestHandler {
        return this.#list.bind(this);
      }

      @RateLimit({ policy: once })
      #list(_request: Request, response: Response): void {
        response.end();
      }
    }
    const app = appOf({ '/': new Orders().handler() });

    const answers = [await request(app).get('/'), await request(app).get('/')];

    expect(answers.map(({ status }) => status)).toEqual([200, 429]);
  });

  it('hands what the method throws, or rejects with, to the error handler', async () => {
    class Orders {
      @RateLimit({ policy: once })
      now(_request: Request, _response: Response, _next: NextFunction): void {
        throw new TypeError('of the handler');
      }

      @RateLimit({ policy: once })
      async later(_request: Request, _response: Response, _next: NextFunction): Promise<void> {
        await Promise.reject(new TypeError('of the handler'));
      }
    }
    const orders = new Orders();
    const app = appOf({ '/now': orders.now, '/later': orders.later });

    const answers = [await request(app).get('/now'), await request(app).get('/later')];

    for (const { status, body } of answers) {
      expect(status).toBe(500);
      expect(body).toMatchObject({ message: 'of the handler' });
    }
  });

  it('hands errors of the options to the error handler', async () => {
    class Orders {
      @RateLimit({
        policy: once,
        key: () => {
          throw new TypeError('of the key');
        },
      })
      list(_request: Request, response: Response, _next: NextFunction): void {
        response.end();
      }
    }
    const app = appOf({ '/': new Orders().list });

    const answer = await request(app).get('/');

    expect(answer.status).toBe(500);
    expect(answer.body).toMatchObject({ message: 'of the key' });
  });

  it('resolves to what the method answers, and rejects with what it throws, when it is called without next', async () => {
    class Orders {
      @RateLimit({ policy: fixedWindow({ limit: 2, window: '1h' }) })
      list(req: Request, _response: Response): unknown {
        if (req.path === '/fails') throw new TypeError('of the handler');
        return 'answered';
      }
    }
    const { list } = new Orders();
    const seen: unknown[] = [];
    const app = express();
    app.use((req, response) => {
      void Promise.resolve(list(req, response))
        .catch((error: unknown) => error)
        .then((outcome) => {
          seen.push(outcome);
          response.end();
        });
    });

    await request(app).get('/works');
    await request(app).get('/fails');

    expect(seen).toEqual(['answered', new TypeError('of the handler')]);
  });
});

describe('@RateLimit() with bad options', () => {
  it.each<[string, unknown, string]>([
    ['an unknown option', { policy: once, windowMs: 1 }, 'windowMs'],
    ['a bad limit', { limit: 0.5, window: '1m' }, 'limit'],
    ['no policy', {}, 'policy'],
    ['a bad name', { name: 'no name', policy: once }, 'name'],
    ['no options', undefined, 'rateLimit'],
  ])('fails when the class is defined: %s', (_what, options, field) => {
    const define = () => {
      class Orders {
        @RateLimit(options as never)
        list(_request: Request, response: Response): void {
          response.end();
        }
      }
      return Orders;
    };

    expect(define).toThrow(expect.objectContaining({ name: 'PolicyError', field }));
  });

  it('takes no name on the store of a class that could not be defined', () => {
    const store: Store = memoryStore();
    const define = (limit: number) => {
      class Orders {
        @RateLimit({ name: 'orders', limit, window: '1m', store })
        list(_request: Request, response: Response): void {
          response.end();
        }
      }
      return Orders;
    };

    expect(() => define(0.5)).toThrow('limit must be a whole number');
    expect(() => define(5)).not.toThrow();
  });

  it('denies what is no method', () => {
    const decorate = RateLimit({ policy: once }) as unknown as (value: unknown, context: unknown) => unknown;

    expect(() => decorate(class {}, { kind: 'class', name: 'Orders' })).toThrow(
      '@RateLimit() goes on a method of a class',
    );
    expect(() => decorate(undefined, { kind: 'field', name: 'list' })).toThrow(
      '@RateLimit() goes on a method of a class',
    );
  });
});
