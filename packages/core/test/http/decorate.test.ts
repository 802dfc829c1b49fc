import { describe, expect, it } from '@jest/globals';
import { fixedWindow, memoryStore } from '@sluice/core';
import { limitMethods, type MethodDecorator } from '@sluice/core/http';
import { plainFramework, PlainResponse, type PlainRequest } from './plain-framework.ts';

type Fail = (error: unknown) => void;
type Handler = (request: PlainRequest, response: PlainResponse, fail?: Fail) => unknown;

const RateLimit = (options: object): MethodDecorator =>
  limitMethods(options, plainFramework, (args) => {
    const [request, response, fail] = args as Parameters<Handler>;
    return { request, response, fail, denied: 'denied', goesOn: () => !response.destroyed };
  });
const once = { policy: fixedWindow({ limit: 1, window: '1h' }) };
const fail = (): never => {
  throw new TypeError('of the user');
};

/** What these handlers return, one after the other, and the policies that they have told. */
async function call(...handlers: readonly Handler[]): Promise<unknown[]> {
  const told: unknown[] = [];
  for (const handler of handlers) {
    const response = new PlainResponse();
    told.push([await handler({}, response), response.headers.get('ratelimit-policy')?.replaceAll(/;[^,]+/g, '')]);
  }
  return told;
}

describe('@RateLimit()', () => {
  it('limits a method, bound, off its object or of the prototype, under the name of its class and its own', async () => {
    class Orders {
      @RateLimit(once)
      list(_request: PlainRequest, _response: PlainResponse): unknown {
        return typeof this;
      }

      @RateLimit(once)
      static daily(_request: PlainRequest, _response: PlainResponse): unknown {
        return this.name;
      }

      @RateLimit(once)
      find(_request: PlainRequest, _response: PlainResponse): unknown {
        return 'found';
      }
    }
    const uninstantiated = await call(Orders.prototype.find, Orders.prototype.find);
    const orders = new Orders();

    expect(uninstantiated).toEqual([
      ['found', '"Handlers.find"'],
      ['denied', '"Handlers.find"'],
    ]);
    expect(await call(orders.list.bind(orders), orders.list, new Orders().list)).toEqual([
      ['object', '"Orders.list"'],
      ...new Array(2).fill(['denied', '"Orders.list"']),
    ]);
    expect(await call(Orders.daily.bind(Orders), Orders.daily)).toEqual([
      ['Orders', '"Orders.daily"'],
      ['denied', '"Orders.daily"'],
    ]);
  });

  it('limits an inherited method with all subclasses, and an overriding one beside the one that it calls', async () => {
    const own = { policy: fixedWindow({ limit: 3, window: '1h' }), store: memoryStore() };
    class Base {
      @RateLimit(own)
      list(_request: PlainRequest, _response: PlainResponse): unknown {
        return 'listed';
      }
    }
    class One extends Base {}
    class Special extends Base {
      @RateLimit(own)
      override list(request: PlainRequest, response: PlainResponse): unknown {
        return super.list(request, response);
      }
    }
    const special = new Special();

    expect(await call(new One().list, new Base().list, special.list.bind(special), new One().list)).toEqual([
      ...new Array(2).fill(['listed', '"Base.list"']),
      ['listed', '"Special.list", "Base.list"'],
      ['denied', '"Base.list"'],
    ]);
  });

  it('does the same as TypeScript’s experimentalDecorators call it', async () => {
    class Orders {
      list(): unknown {
        return 'listed';
      }

      static daily(): unknown {
        return 'daily';
      }
    }
    for (const [target, name] of [[Orders.prototype, 'list'] as const, [Orders, 'daily'] as const]) {
      const descriptor = Object.getOwnPropertyDescriptor(target, name) as PropertyDescriptor;
      Object.defineProperty(target, name, RateLimit(once)(target, name, descriptor));
    }
    const [list, daily] = [new Orders().list as Handler, Orders.daily as Handler];

    expect(await call(list, list, daily)).toEqual([
      ['listed', '"Orders.list"'],
      ['denied', '"Orders.list"'],
      ['daily', '"Orders.daily"'],
    ]);
  });

  it.each<[string, object, () => unknown]>([
    ['throws', once, fail],
    ['rejects with', once, async () => Promise.reject(new TypeError('of the user'))],
    ['is not called for: a function of the options throws', { ...once, key: fail }, () => 'called'],
  ])('passes on what the method %s', async (_what, options, work) => {
    class Orders {
      @RateLimit(options)
      list(_request: PlainRequest, _response: PlainResponse, _fail?: Fail): unknown {
        return work();
      }
    }
    const { list } = new Orders();
    const errors: unknown[] = [];
    await list({}, new PlainResponse(), (error) => errors.push(error));
    const rejects = list({}, new PlainResponse());

    expect(errors).toEqual([new TypeError('of the user')]);
    if (options !== once) await expect(rejects).rejects.toThrow('of the user');
  });

  it('calls no method for a client that has left', async () => {
    class Orders {
      @RateLimit(once)
      list(_request: PlainRequest, _response: PlainResponse): unknown {
        return 'listed';
      }
    }

    expect(await new Orders().list({}, Object.assign(new PlainResponse(), { destroyed: true }))).toBe('denied');
  });

  it('fails with bad options, and takes no name; and on what is no method', () => {
    const options = { name: 'orders', window: '1m', store: memoryStore() };
    const make = (own: object) => {
      class Orders {
        @RateLimit({ ...options, ...own })
        list(_request: PlainRequest, _response: PlainResponse): void {}
      }
      return new Orders();
    };
    const decorate = RateLimit(once) as unknown as (value: unknown, context: unknown) => unknown;

    expect(() => make({ limit: 0.5 })).toThrow('limit must be a whole number');
    expect(() => make({ limit: 5 })).not.toThrow();
    for (const kind of ['class', 'field']) {
      expect(() => decorate(Date, { kind, name: 'x' })).toThrow('@RateLimit() goes on a method of a class');
    }
  });
});
