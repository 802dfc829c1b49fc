import { describe, expect, it } from '@jest/globals';
import { RateLimit, fixedWindow } from '@sluice/express';
import type { Request, RequestHandler, Response } from 'express';
import request from 'supertest';
import { frameworks } from './frameworks.ts';

// Compiled as TypeScript's experimentalDecorators; middleware.test.ts has more, with those of TC39.

const once = fixedWindow({ limit: 1, window: '1h' });

describe.each(frameworks)('@RateLimit() under experimentalDecorators on $version', ({ express }) => {
  it('limits methods, static and inherited ones too, under the name of the class that has them', async () => {
    class Base {
      readonly greeting = 'hello';

      @RateLimit({ policy: once })
      list(_request: Request, response: Response): void {
        response.send(this.greeting);
      }

      @RateLimit({ policy: once })
      static daily(_request: Request, response: Response): void {
        response.send('daily');
      }
    }
    class Other extends Base {}
    const [base, other] = [new Base(), new Other()];
    const ask = async (handler: RequestHandler) => {
      const { status, text, headers } = await request(express().use(handler)).get('/');
      return status === 200 ? [text, headers['ratelimit-policy'] as unknown] : status;
    };

    expect(await ask(base.list.bind(base))).toEqual(['hello', '"Base.list";q=1;w=3600']);
    expect(await ask(other.list.bind(other))).toBe(429);
    expect(await ask(Base.daily)).toEqual(['daily', '"Base.daily";q=1;w=3600']);
  });
});
