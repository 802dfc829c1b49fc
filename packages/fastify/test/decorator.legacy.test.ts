import { afterEach, describe, expect, it } from '@jest/globals';
import sluice, { RateLimit, fixedWindow, memoryStore } from '@sluice/fastify';
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';

// Compiled as TypeScript's experimentalDecorators; decorator.test.ts holds the same for those of TC39.

const once = fixedWindow({ limit: 1, window: '1m' });

let app: FastifyInstance;

afterEach(() => app.close());

async function get(...paths: string[]): Promise<Response[]> {
  if (!app.server.listening) await app.listen({ host: '127.0.0.1', port: 0 });
  const { port } = app.server.address() as { port: number };
  const answers: Response[] = [];
  for (const path of paths) answers.push(await fetch(`http://127.0.0.1:${String(port)}${path}`));
  return answers;
}

describe('@RateLimit() under experimentalDecorators', () => {
  it('limits it, under the name of its class and its own', async () => {
    class Orders {
      readonly greeting = 'hello';
      @RateLimit({ policy: once })
      list(request: FastifyRequest): string {
        return `${this.greeting} ${String(request.rateLimit?.decision.remaining)}`;
      }
    }
    const orders = new Orders();
    app = Fastify();
    app.get('/', orders.list.bind(orders));

    const [first, second] = await get('/', '/');

    expect(await first?.text()).toBe('hello 0');
    expect(first?.headers.get('ratelimit-policy')).toBe('"Orders.list";q=1;w=60');
    expect(second?.status).toBe(429);
    expect(second?.headers.get('content-type')).toBe('application/problem+json');
  });

  it('passes on what the method answers with its reply, and what it throws', async () => {
    class Orders {
      @RateLimit({ limit: 5, window: '1m' })
      async reply(_request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
        await Promise.resolve();
        return reply.code(201).send('made');
      }
      @RateLimit({ limit: 5, window: '1m' })
      fail(): never {
        throw new Error('broken');
      }
    }
    const orders = new Orders();
    app = Fastify();
    app.get('/reply', orders.reply);
    app.get('/fail', orders.fail);

    const [reply, fail] = await get('/reply', '/fail');

    expect([reply?.status, await reply?.text()]).toEqual([201, 'made']);
    expect(fail?.status).toBe(500);
    expect(await fail?.json()).toMatchObject({ message: 'broken' });
  });

  it('adds its fields to those of the plugin', async () => {
    class Orders {
      @RateLimit({ policy: once })
      list(): string {
        return '';
      }
    }
    app = Fastify();
    await app.register(sluice, { limit: 5, window: '1m' });
    app.get('/', new Orders().list);

    const [first] = await get('/');

    expect(first?.headers.get('ratelimit')).toMatch(/^"default";r=4;t=\d+, "Orders.list";r=0;t=60$/);
  });

  it('goes through the error handler with throw: true', async () => {
    class Orders {
      @RateLimit({ policy: once, throw: true })
      list(): string {
        return '';
      }
    }
    app = Fastify();
    app.get('/', new Orders().list);

    const [, second] = await get('/', '/');

    expect(second?.status).toBe(429);
    expect(await second?.json()).toMatchObject({ code: 'SLUICE_DENIED' });
    expect(second?.headers.get('retry-after')).toBe('60');
  });

  it('fails when the class is defined, for bad options, and takes no name then', () => {
    app = Fastify();
    const store = memoryStore();
    const define = (limit: number) => {
      class Orders {
        @RateLimit({ limit, window: '1m', store })
        list(): string {
          return '';
        }
      }
      return Orders;
    };

    expect(() => define(0.5)).toThrow(expect.objectContaining({ name: 'PolicyError', field: 'limit' }));
    expect(() => define(1)).not.toThrow();
  });
});
