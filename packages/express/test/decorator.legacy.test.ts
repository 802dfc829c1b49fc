/* eslint-disable @typescript-eslint/no-extraneous-class -- what is decorated may be static */
import { describe, expect, it } from '@jest/globals';
import { RateLimit, fixedWindow, memoryStore } from '@sluice/express';
import type { NextFunction, Request, RequestHandler, Response } from 'express';
import request from 'supertest';
import { frameworks } from './frameworks.ts';
import { tellError } from './on-error.ts';

// Compiled as TypeScript's experimentalDecorators; decorator.test.ts holds the same for those of TC39.

const once = fixedWindow({ limit: 1, window: '1h' });

describe.each(frameworks)('@RateLimit() under experimentalDecorators on $version', ({ express }) => {
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
  });

  it('limits a handler that was taken off its object', async () => {
    class Orders {
      @RateLimit({ policy: once })
      list(_request: Request, response: Response): void {
        response.json({ that: typeof this });
      }
    }
    const app = appOf({ '/': new Orders().list });

    const answers = [await request(app).get('/'), await request(app).get('/')];

    expect(answers[0]?.body).toEqual({ that: 'undefined' });
    expect(answers[1]?.status).toBe(429);
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

  it('limits an inherited method under the class that has it, for all of its subclasses together', async () => {
    class Base {
      @RateLimit({ policy: once })
      list(_request: Request, response: Response): void {
        response.end();
      }
    }
    class One extends Base {}
    class Two extends Base {}
    const app = appOf({ '/one': new One().list, '/two': new Two().list });

    const answers = [await request(app).get('/one'), await request(app).get('/two')];

    expect(answers.map(({ status }) => status)).toEqual([200, 429]);
    expect(answers[0]?.headers['ratelimit-policy']).toBe('"Base.list";q=1;w=3600');
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

  it('hands what the method throws to the error handler', async () => {
    class Orders {
      @RateLimit({ policy: once })
      list(_request: Request, _response: Response, _next: NextFunction): void {
        throw new TypeError('of the handler');
      }
    }
    const app = appOf({ '/': new Orders().list });

    const answer = await request(app).get('/');

    expect(answer.status).toBe(500);
    expect(answer.body).toMatchObject({ message: 'of the handler' });
  });
});

describe('@RateLimit() under experimentalDecorators with bad options', () => {
  it('fails when the class is defined', () => {
    const define = () => {
      class Orders {
        @RateLimit({ policy: once, windowMs: 1 } as never)
        list(_request: Request, response: Response): void {
          response.end();
        }
      }
      return Orders;
    };

    expect(define).toThrow(expect.objectContaining({ name: 'PolicyError', field: 'windowMs' }));
  });

  it('fails when the class is defined, for a name that is taken on the store', () => {
    const store = memoryStore();
    const define = () => {
      class Orders {
        @RateLimit({ policy: once, store })
        list(_request: Request, response: Response): void {
          response.end();
        }
      }
      return Orders;
    };
    define();

    expect(define).toThrow(expect.objectContaining({ code: 'SLUICE_LIMITER_NAME_TAKEN' }));
  });
});
