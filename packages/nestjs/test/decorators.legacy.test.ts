import { describe, expect, it } from '@jest/globals';
import { Controller, Get, Param, type Type } from '@nestjs/common';
import {
  CurrentRateLimit,
  RateLimit,
  RateLimitModule,
  SkipRateLimit,
  byAll,
  byHeader,
  byRoute,
  fixedWindow,
  memoryStore,
  type RateLimitOptions,
  type RateLimitInfo,
  type RateLimitModuleOptions,
} from '@sluice/nestjs';
import { platforms, untilTestEnds } from './serve.ts';

const upTo = (limit: number) => fixedWindow({ limit, window: '1h' });
const rootOf = (controller: Type, options: RateLimitModuleOptions = {}) => ({
  imports: [RateLimitModule.forRoot(options)],
  controllers: [controller],
});
const policiesOf = (answer: Response) => answer.headers.get('ratelimit-policy');
const codeOf = (field: string, code = 'SLUICE_OPTION_INVALID') => expect.objectContaining({ field, code });

/** A class `Orders` with a method `list`: one more with each call. */
function ordersAt(
  path: string,
  {
    onClass,
    onMethod = onClass === undefined ? { policy: upTo(1) } : undefined,
  }: { onClass?: RateLimitOptions; onMethod?: RateLimitOptions } = {},
): Type {
  @Controller(path)
  class Orders {
    @Get()
    list() {
      return '';
    }
  }
  if (onClass !== undefined) RateLimit(onClass)(Orders);
  const descriptor = Object.getOwnPropertyDescriptor(Orders.prototype, 'list');
  if (onMethod !== undefined) RateLimit(onMethod)(Orders.prototype, 'list', descriptor ?? {});
  return Orders;
}

describe.each(platforms)('@RateLimit() on %s', (platform) => {
  const serve = untilTestEnds();

  it('holds together with those of module and class, as one decision, the outermost first', async () => {
    @Controller()
    @RateLimit({ policy: upTo(10) })
    class Orders {
      @Get()
      @RateLimit({ policy: upTo(2) })
      list(@CurrentRateLimit() limit: RateLimitInfo | undefined) {
        return limit?.decision.policies.map(({ name, remaining }) => `${name} ${String(remaining)}`);
      }
    }
    const { fetch } = await serve(platform, rootOf(Orders, { policy: upTo(20) }));

    const answer = await fetch('/');

    expect(policiesOf(answer)).toBe('"default";q=20;w=3600, "Orders";q=10;w=3600, "Orders.list";q=2;w=3600');
    expect(await answer.json()).toEqual(['default 19', 'Orders 9', 'Orders.list 1']);
  });

  it('takes nothing from the others when it denies', async () => {
    @Controller()
    @RateLimit({ policy: upTo(3) })
    class Orders {
      @Get('tight')
      @RateLimit({ policy: upTo(1) })
      tight() {
        return '';
      }

      @Get('free')
      free() {
        return '';
      }
    }
    const { statuses } = await serve(platform, rootOf(Orders, { policy: upTo(3) }));

    const tight = await statuses('/tight', 5);
    const free = await statuses('/free', 3);

    expect(tight).toEqual([200, 429, 429, 429, 429]);
    expect(free).toEqual([200, 200, 429]);
  });

  it('may stand several times on one place: all hold, under names in their order', async () => {
    @Controller()
    class Orders {
      @Get()
      @RateLimit({ policy: upTo(10) })
      @RateLimit({ policy: upTo(1), key: byHeader('x-tenant') })
      @RateLimit({ name: 'named', policy: upTo(5), key: byAll() })
      list() {
        return '';
      }
    }
    const { fetch } = await serve(platform, rootOf(Orders));
    const asTenant = (tenant: string) => fetch('/', { headers: { 'x-tenant': tenant } });

    const answers = [await asTenant('a'), await asTenant('a'), await asTenant('b')];

    expect(policiesOf(answers[0] as Response)).toBe(
      '"Orders.list";q=10;w=3600, "Orders.list-2";q=1;w=3600, "named";q=5;w=3600',
    );
    expect(answers.map(({ status }) => status)).toEqual([200, 429, 200]);
    expect(answers[2]?.headers.get('ratelimit')).toContain('"named";r=3');
  });

  it('of a class is one budget for its handlers, those of subclasses included', async () => {
    @RateLimit({ policy: upTo(2) })
    abstract class Base {
      @Get('base')
      base() {
        return '';
      }
    }
    @Controller()
    @RateLimit({ policy: upTo(9) })
    class Orders extends Base {
      @Get('own')
      own() {
        return '';
      }
    }
    const { fetch, statuses } = await serve(platform, rootOf(Orders));

    expect(policiesOf(await fetch('/base'))).toBe('"Base";q=2;w=3600, "Orders";q=9;w=3600');
    expect(await statuses('/own', 2)).toEqual([200, 429]);
  });

  it('counts all requests of a route by its template', async () => {
    @Controller('users')
    class Users {
      @Get(':id')
      @RateLimit({ policy: upTo(2), key: byRoute() })
      read(@Param('id') id: string, @CurrentRateLimit() limit: RateLimitInfo | undefined) {
        return [id, limit?.key];
      }
    }
    const { fetch, statuses } = await serve(platform, rootOf(Users));

    expect(await (await fetch('/users/1')).json()).toEqual(['1', '/users/:id']);
    expect(await statuses('/users/2', 2)).toEqual([200, 429]);
  });

  it('fails the start where two classes of one name have limits without names, and says so', async () => {
    const first = ordersAt('v1');
    const second = ordersAt('v2');

    const start = serve(platform, { imports: [RateLimitModule.forRoot()], controllers: [first, second] });

    await expect(start).rejects.toEqual(codeOf('name', 'SLUICE_LIMITER_NAME_TAKEN'));
    await expect(start).rejects.toThrow(
      'two @RateLimit() decorators have the name "Orders.list", on classes of one name; give one of them a name',
    );
  });

  it('fails the start where a class and the one that it extends have one name, and says so', async () => {
    const Base = ordersAt('v1', { onClass: { policy: upTo(1) } });
    @Controller('v2')
    @RateLimit({ policy: upTo(1) })
    class Orders extends Base {}

    const start = serve(platform, { imports: [RateLimitModule.forRoot()], controllers: [Orders] });

    await expect(start).rejects.toThrow('two @RateLimit() decorators have the name "Orders", on classes of one name');
  });

  it('fails the start where two say one name, and says on what', async () => {
    const first = ordersAt('v1', { onClass: { name: 'orders', policy: upTo(1) } });
    const second = ordersAt('v2', { onMethod: { name: 'Orders', policy: upTo(1) } });

    const start = serve(platform, { imports: [RateLimitModule.forRoot()], controllers: [first, second] });

    await expect(start).rejects.toThrow(
      'two @RateLimit() decorators have the name "Orders", on Orders and on Orders.list; give one of them a name',
    );
  });

  it('counts in one budget where two of one name say shared: true', async () => {
    const options = { policy: upTo(1), shared: true };
    const first = ordersAt('v1', { onMethod: options });
    const second = ordersAt('v2', { onMethod: options });
    const { statuses } = await serve(platform, {
      imports: [RateLimitModule.forRoot()],
      controllers: [first, second],
    });

    expect([...(await statuses('/v1', 1)), ...(await statuses('/v2', 1))]).toEqual([200, 429]);
  });

  it('fails the start where limits cannot be decided together', async () => {
    @Controller()
    class Orders {
      @Get()
      @RateLimit({ policy: upTo(1), store: memoryStore() })
      list() {
        return '';
      }
    }

    await expect(serve(platform, rootOf(Orders, { policy: upTo(1) }))).rejects.toEqual(codeOf('store'));
  });
});

describe.each(platforms)('@SkipRateLimit() on %s', (platform) => {
  const serve = untilTestEnds();
  const limits: RateLimitModuleOptions = {
    name: 'app',
    limits: [
      { name: 'short', policy: upTo(2) },
      { name: 'long', policy: fixedWindow({ limit: 10, window: '1d' }) },
    ],
  };

  it('leaves all limits of a method out, its own included', async () => {
    @Controller()
    @RateLimit({ policy: upTo(1) })
    class Pages {
      @Get('health')
      @SkipRateLimit()
      @RateLimit({ policy: upTo(1) })
      health() {
        return '';
      }

      @Get('page')
      page() {
        return '';
      }
    }
    const { fetch, statuses } = await serve(platform, rootOf(Pages, { policy: upTo(1) }));

    expect(policiesOf(await fetch('/health'))).toBeNull();
    expect(await statuses('/health', 3)).toEqual([200, 200, 200]);
    expect(await statuses('/page', 2)).toEqual([200, 429]);
  });

  it('on a class leaves out those of module and class, but not those of its methods', async () => {
    @Controller()
    @SkipRateLimit()
    @RateLimit({ policy: upTo(1) })
    class Pages {
      @Get('free')
      free() {
        return '';
      }

      @Get('limited')
      @RateLimit({ policy: upTo(3) })
      limited() {
        return '';
      }
    }
    const { fetch } = await serve(platform, rootOf(Pages, { policy: upTo(1) }));

    expect(policiesOf(await fetch('/free'))).toBeNull();
    expect(policiesOf(await fetch('/limited'))).toBe('"Pages.limited";q=3;w=3600');
  });

  it('leaves out the entries of limits that it names; the others count in the same budgets', async () => {
    @Controller()
    class Pages {
      @Get('all')
      all() {
        return '';
      }

      @Get('long')
      @SkipRateLimit('short')
      long() {
        return '';
      }
    }
    const { fetch, statuses } = await serve(platform, rootOf(Pages, limits));

    const fields = (await fetch('/long')).headers.get('ratelimit');
    const both = (await fetch('/all')).headers.get('ratelimit');

    expect(fields).toMatch(/^"long";r=9;t=\d+$/);
    expect(both).toMatch(/^"short";r=1;t=\d+, "long";r=8;t=\d+$/);
    expect(await statuses('/all', 2)).toEqual([200, 429]);
    expect(await statuses('/long', 2)).toEqual([200, 200]);
  });

  it.each([
    ['a limiter', limits, ['app'], null],
    ['an entry', limits, ['long'], '"short";q=2;w=3600'],
    ['every entry', limits, ['short', 'long'], null],
    ['a policy that stands alone', { policy: fixedWindow({ name: 'burst', limit: 1, window: '1s' }) }, ['burst'], null],
  ])('knows the name of %s', async (_what, options, names, policies) => {
    @Controller()
    class Pages {
      @Get()
      @SkipRateLimit(...names)
      page() {
        return '';
      }
    }
    const { fetch } = await serve(platform, rootOf(Pages, options));

    expect(policiesOf(await fetch('/'))).toBe(policies);
  });

  it('adds up when it stands on a place several times, and on class and method', async () => {
    @Controller()
    @SkipRateLimit('short')
    class Pages {
      @Get()
      @RateLimit({ policy: upTo(7) })
      @SkipRateLimit('page')
      @SkipRateLimit('long')
      @RateLimit({ name: 'page', policy: upTo(7) })
      page() {
        return '';
      }
    }
    const { fetch } = await serve(platform, rootOf(Pages, limits));

    expect(policiesOf(await fetch('/'))).toBe('"Pages.page";q=7;w=3600');
  });

  it('fails the start with a name that no limit has there', async () => {
    @Controller()
    class Pages {
      @Get()
      @SkipRateLimit('shrt')
      page() {
        return '';
      }
    }

    const start = serve(platform, rootOf(Pages, limits));

    await expect(start).rejects.toEqual(codeOf('@SkipRateLimit'));
    await expect(start).rejects.toThrow(
      '@SkipRateLimit("shrt") on Pages.page names no limit that applies there; known: app, short, long',
    );
  });

  it('fails the start with one of several policies that are counted under one key', async () => {
    @Controller()
    class Pages {
      @Get()
      @SkipRateLimit('burst')
      page() {
        return '';
      }
    }
    const policy = [
      fixedWindow({ name: 'burst', limit: 1, window: '1s' }),
      fixedWindow({ name: 'rate', limit: 9, window: '1h' }),
    ];

    await expect(serve(platform, rootOf(Pages, { policy }))).rejects.toThrow('write them as entries of limits');
  });
});

describe('a decorator', () => {
  it('denies bad options when the class is defined', () => {
    expect(() => RateLimit({ limit: 0.5, window: '1m' })).toThrow('@RateLimit(): limit must be');
    expect(() => RateLimit({ max: 5 } as never)).toThrow('@RateLimit() has no option "max"');
    expect(() => RateLimit({ limit: 1, window: '1m', refnd: 'on-success' } as never)).toThrow('did you mean "refund"?');
    expect(() => RateLimit({} as never)).toThrow('needs limit and window');
    expect(() => SkipRateLimit(5 as never)).toThrow(codeOf('@SkipRateLimit'));
  });

  it('denies to stand on what handles no requests', () => {
    const onProperty = RateLimit({ limit: 1, window: '1m' }) as PropertyDecorator;

    expect(() => {
      onProperty({}, 'list');
    }).toThrow('use it on a class or on a method of a class');
  });

  it('says that Nest needs experimentalDecorators where it is compiled otherwise', () => {
    const standard = SkipRateLimit() as unknown as (value: unknown, context: object) => void;

    expect(() => {
      standard(Object, { kind: 'class', name: 'Orders' });
    }).toThrow('experimentalDecorators');
  });
});
