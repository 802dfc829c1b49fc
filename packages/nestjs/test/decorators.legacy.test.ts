import { describe, expect, it } from '@jest/globals';
import {
  Controller,
  Get,
  Inject,
  Req,
  VERSION_NEUTRAL,
  Version,
  VersioningType,
  type ControllerOptions,
  type Type,
} from '@nestjs/common';
import {
  RateLimit,
  RateLimitModule,
  RateLimits,
  SkipRateLimit,
  byAll,
  byHeader,
  byIp,
  byRoute,
  fixedWindow,
  memoryStore,
  type KeyByLimit,
  type NestRequest,
  type RateLimitModuleOptions,
  type RateLimitOptions,
} from '@sluice/nestjs';
import type { HttpAnswer } from '@sluice/testkit';
import { platforms, untilTestEnds } from './serve.ts';

const serve = untilTestEnds();
const upTo = (limit: number) => fixedWindow({ limit, window: '1h' });
const rootOf = (options: RateLimitModuleOptions, ...controllers: Type[]) => ({
  imports: [RateLimitModule.forRoot(options)],
  controllers,
});
const policiesOf = ({ headers }: HttpAnswer) => headers['ratelimit-policy'];

/** A class `Orders` with one handler, `list`, and decorators of this handler. */
function orders(at: ControllerOptions | string | string[], ...decorators: readonly MethodDecorator[]): Type {
  @Controller(at as ControllerOptions)
  class Orders {
    @Get()
    list(@Req() { rateLimit: limit }: NestRequest) {
      return [limit?.key, limit?.decision.policies.map(({ name, remaining }) => `${name} ${String(remaining)}`)];
    }
  }
  const descriptor = Object.getOwnPropertyDescriptor(Orders.prototype, 'list') ?? {};
  for (const decorator of decorators.toReversed()) decorator(Orders.prototype, 'list', descriptor);
  return Orders;
}

/** The same, with decorators of the class too. */
function ordersWith(ofClass: readonly ClassDecorator[], ...ofMethod: readonly MethodDecorator[]): Type {
  const Orders = orders('', ...ofMethod);
  for (const decorator of ofClass.toReversed()) decorator(Orders);
  return Orders;
}

describe.each(platforms)('@RateLimit() on %s', (platform) => {
  it('is one decision with those of module and class, the outermost first', async () => {
    const Orders = ordersWith([RateLimit({ policy: upTo(10) })], RateLimit({ policy: upTo(2) }));
    const { ask } = await serve(platform, rootOf({ policy: upTo(20) }, Orders));

    const answer = await ask('/');

    expect(policiesOf(answer)).toBe('"default";q=20;w=3600, "Orders";q=10;w=3600, "Orders.list";q=2;w=3600');
    expect(JSON.parse(answer.body)).toEqual([
      { default: '127.0.0.1', Orders: '127.0.0.1', 'Orders.list': '127.0.0.1' },
      ['default 19', 'Orders 9', 'Orders.list 1'],
    ]);
  });

  it('decides apart in report mode, and the decision that others enforce is that of the request', async () => {
    const limit: RateLimitOptions = { policy: upTo(1), mode: 'report' };
    const { ask, statuses } = await serve(platform, rootOf({ policy: upTo(3) }, orders('', RateLimit(limit))));

    const answer = await ask('/');

    expect(JSON.parse(answer.body)).toEqual(['127.0.0.1', ['default 2']]);
    expect(policiesOf(answer)).toBe('"default";q=3;w=3600');
    expect(await statuses('/', '/', '/')).toEqual([200, 200, 429]);
  });

  it('may stand several times on one place, with names in their order', async () => {
    const perTenant = RateLimit({ policy: upTo(1), key: byHeader('x-tenant') });
    const named = RateLimit({ name: 'named', policy: upTo(5), key: byAll() });
    const Orders = orders('', RateLimit({ policy: upTo(10) }), perTenant, named);
    const { ask } = await serve(platform, rootOf({}, Orders));
    const asTenant = (tenant: string) => ask('/', { headers: { 'x-tenant': tenant } });

    const answers = [await asTenant('a'), await asTenant('a'), await asTenant('b')];

    expect(policiesOf(answers[0] as HttpAnswer)).toBe(
      '"Orders.list";q=10;w=3600, "Orders.list-2";q=1;w=3600, "named";q=5;w=3600',
    );
    expect(answers.map(({ status }) => status)).toEqual([200, 429, 200]);
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
    const { ask, statuses } = await serve(platform, rootOf({}, Orders));

    expect(policiesOf(await ask('/base'))).toBe('"Base";q=2;w=3600, "Orders";q=9;w=3600');
    expect(await statuses('/own', '/own')).toEqual([200, 429]);
  });

  it('has its limiter and its keys in RateLimits, by its name', async () => {
    @Controller()
    class Accounts {
      constructor(@Inject(RateLimits) readonly limits: RateLimits) {}

      @Get()
      @RateLimit({ name: 'login', limits: [{ name: 'ip', policy: upTo(1), key: byIp() }] })
      async login(@Req() request: NestRequest) {
        const keys = await this.limits.keyFor<KeyByLimit>('login', request);
        await this.limits.limiter<KeyByLimit>('login').reset(keys);
        return keys;
      }
    }
    const { app, ask, statuses } = await serve(platform, rootOf({}, Accounts));
    const limits = app.get(RateLimits);

    expect(JSON.parse((await ask('/')).body)).toEqual({ ip: '127.0.0.1' });
    expect(await statuses('/', '/', '/')).toEqual([200, 200, 200]);
    expect(() => limits.limiter('logn')).toThrow('there is no limiter named "logn"; known: "login"');
    await expect(limits.keyFor('logn', {})).rejects.toThrow('there is no limiter named');
  });
});

describe.each(platforms)('@SkipRateLimit() on %s', (platform) => {
  const one = RateLimit({ policy: upTo(1) });
  const limits: RateLimitModuleOptions = {
    name: 'app',
    limits: [
      { name: 'short', policy: upTo(2) },
      { name: 'long', policy: fixedWindow({ limit: 10, window: '1d' }) },
    ],
  };
  const burst: RateLimitModuleOptions = { policy: fixedWindow({ name: 'burst', limit: 1, window: '1s' }) };

  it.each<[string, RateLimitModuleOptions, Type, string | undefined]>([
    ['leaves out all limits of a method, its own included', limits, orders('', SkipRateLimit(), one), undefined],
    ['leaves out a limiter by its name', limits, orders('', SkipRateLimit('app')), undefined],
    ['leaves out an entry of limits', limits, orders('', SkipRateLimit('long')), '"short";q=2;w=3600'],
    ['leaves out every entry of limits', limits, orders('', SkipRateLimit('long', 'short')), undefined],
    ['leaves out a policy that stands alone', burst, orders('', SkipRateLimit('burst')), undefined],
    [
      'on a class leaves out those of module and class, and not those of its methods',
      limits,
      ordersWith([SkipRateLimit(), one], RateLimit({ policy: upTo(3) })),
      '"Orders.list";q=3;w=3600',
    ],
    [
      'adds up on one place, and on class and method',
      limits,
      ordersWith(
        [SkipRateLimit('short')],
        SkipRateLimit('long', 'short'),
        SkipRateLimit('page'),
        one,
        RateLimit({ name: 'page', policy: upTo(7) }),
      ),
      '"Orders.list";q=1;w=3600',
    ],
  ])('%s', async (_title, options, controller, policies) => {
    const { ask } = await serve(platform, rootOf(options, controller));

    const answer = await ask('/');

    expect([answer.status, policiesOf(answer)]).toEqual([200, policies]);
  });
});

describe('a mistake in a decorator', () => {
  const one = { policy: upTo(1) };

  it.each<[string, readonly Type[]]>([
    ['@RateLimit() on Orders.list: limit must be', [orders('', RateLimit({ limit: 0.5, window: '1m' }))]],
    ['@RateLimit() on Orders.list has no option "max"', [orders('', RateLimit({ max: 5 } as never))]],
    ['@RateLimit() on Orders.list needs limit and window', [orders('', RateLimit({} as never))]],
    ['@RateLimit() on Orders has no option "refnd"', [ordersWith([RateLimit({ ...one, refnd: 1 } as never)])]],
    [
      '@RateLimit() on Orders.list: this store already has a limiter named "Orders.list"',
      [orders('v1', RateLimit(one)), orders('v2', RateLimit(one))],
    ],
    [
      'need the same store, got several in "app" and "Orders.list"',
      [orders('', RateLimit({ ...one, store: memoryStore() }))],
    ],
    [
      '@SkipRateLimit("shrt") on Orders.list names no limit that applies there; known: "app"',
      [orders('', SkipRateLimit('shrt'))],
    ],
  ])('fails the start, and the error names the place: %s', async (message, controllers) => {
    const start = serve('Express', rootOf({ name: 'app', policy: upTo(5) }, ...controllers));

    await expect(start).rejects.toThrow(message);
  });

  it('is to put it on what is no class and no method', () => {
    const onProperty = RateLimit(one) as PropertyDecorator;

    expect(() => {
      onProperty({}, 'list');
    }).toThrow('@RateLimit() goes on a class or on a method of a class');
  });
});

describe.each(platforms)('byRoute() on %s', (platform) => {
  const limit = RateLimit({ policy: upTo(2), key: byRoute() });
  const prices = { path: 'prices', version: ['1', '2'] };

  it.each<[string, Type, readonly string[], string]>([
    [
      'the template',
      orders({ path: 'users', version: '1' }, Get(':id'), limit),
      ['/v1/users/1', '/v1/users/2'],
      '/api/v1/users/:id',
    ],
    [
      'one for all paths of a handler',
      orders(['shops', '/stores/'], Get(['list', 'all/']), limit),
      ['/shops/list', '/stores/all'],
      '/shops/list,/shops/all,/stores/list,/stores/all',
    ],
    [
      'one for all paths of a controller',
      orders(['shops', '/stores/'], Get(':id'), limit),
      ['/shops/1', '/stores/2'],
      '/shops/:id,/stores/:id',
    ],
    ['one for all versions in the path', orders(prices, limit), ['/v1/prices', '/v2/prices'], '/prices@1,2'],
    [
      'one for versions and none',
      orders(prices, Get('now'), Version(['3', VERSION_NEUTRAL]), limit),
      ['/v3/prices/now', '/prices/now'],
      '/prices/now@3,Symbol(VERSION_NEUTRAL)',
    ],
  ])('is %s', async (_what, controller, paths, key) => {
    const { ask } = await serve(platform, rootOf({}, controller), {
      prepare: (nest) => nest.setGlobalPrefix('api').enableVersioning({ type: VersioningType.URI }),
    });
    const answers = [];
    for (const path of [...paths, paths[0]]) answers.push(await ask(`/api${path ?? ''}`));

    expect(answers.map(({ status }) => status)).toEqual([200, 200, 429]);
    expect(answers.slice(0, 2).map(({ body }) => (JSON.parse(body) as unknown[])[0])).toEqual([key, key]);
  });
});
