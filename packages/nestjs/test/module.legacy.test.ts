/* eslint-disable @typescript-eslint/no-extraneous-class -- modules of Nest are empty */
import { describe, expect, it } from '@jest/globals';
import { Controller, Get, Injectable, Module, type DynamicModule } from '@nestjs/common';
import {
  RateLimit,
  RateLimitGuard,
  RateLimitModule,
  createLimiter,
  fixedWindow,
  memoryStore,
  type RateLimitOptionsFactory,
  type RateLimitScopeOptions,
} from '@sluice/nestjs';
import { platforms, untilTestEnds, type RootModule } from './serve.ts';

const policy = fixedWindow({ limit: 1, window: '1h' });

@Controller()
class Pages {
  @Get('page')
  page() {
    return 'a page';
  }
}

@Controller()
class Orders {
  @RateLimit({ policy })
  @Get('orders')
  list() {
    return [];
  }
}

const rootOf = (limits: DynamicModule, ...more: readonly DynamicModule[]): RootModule => ({
  imports: [limits, ...more],
  controllers: [Pages, Orders],
});

@Injectable()
class Limits implements RateLimitOptionsFactory {
  createRateLimitOptions(): RateLimitScopeOptions {
    return { policy };
  }
}

@Module({ providers: [Limits], exports: [Limits] })
class Configuration {}

describe.each(platforms)('RateLimitModule on %s', (platform) => {
  const serve = untilTestEnds();

  it('limits all handlers, with nothing else to set', async () => {
    const { fetch, statuses } = await serve(platform, rootOf(RateLimitModule.forRoot({ limit: 2, window: '1m' })));

    const first = await fetch('/page');

    expect(first.headers.get('ratelimit-policy')).toBe('"default";q=2;w=60');
    expect(await statuses('/page', 2)).toEqual([200, 429]);
    expect(await statuses('/orders', 1)).toEqual([429]);
  });

  it.each<[string, (store: RateLimitScopeOptions['store']) => RateLimitScopeOptions]>([
    ['a store and formats', (store) => ({ store, headers: 'draft-7' })],
    ['nothing', () => ({})],
  ])('with %s and no limit only says what decorators take over', async (_what, options) => {
    const { fetch, statuses } = await serve(platform, rootOf(RateLimitModule.forRoot(options(memoryStore()))));

    const free = await fetch('/page');

    expect(free.headers.get('ratelimit-policy')).toBeNull();
    expect(await statuses('/orders', 2)).toEqual([200, 429]);
  });

  it('gives decorators its store and its format', async () => {
    const store = memoryStore();
    const { fetch } = await serve(platform, rootOf(RateLimitModule.forRoot({ store, headers: 'draft-7' })));

    const answer = await fetch('/orders');

    expect(answer.headers.get('ratelimit')).toMatch(/^limit=1, remaining=0, reset=\d+$/);
    expect(() => createLimiter({ name: 'Orders.list', policy, store })).toThrow('already has a limiter named');
  });

  it.each<[string, DynamicModule]>([
    ['useFactory', RateLimitModule.forRootAsync({ useFactory: () => Promise.resolve({ policy }) })],
    [
      'useFactory with what it injects',
      RateLimitModule.forRootAsync({
        imports: [Configuration],
        inject: [Limits],
        useFactory: (limits: Limits) => limits.createRateLimitOptions(),
      }),
    ],
    ['useClass', RateLimitModule.forRootAsync({ useClass: Limits })],
    ['useExisting', RateLimitModule.forRootAsync({ imports: [Configuration], useExisting: Limits })],
  ])('takes options from %s', async (_way, limits) => {
    const { statuses } = await serve(platform, rootOf(limits));

    expect(await statuses('/page', 2)).toEqual([200, 429]);
  });

  it.each([null, [{ limit: 5, ttl: 60_000 }], 'five'])('takes an object, and not %j', (options) => {
    expect(() => RateLimitModule.forRoot(options as never)).toThrow(
      expect.objectContaining({ name: 'PolicyError', field: 'rateLimit' }),
    );
    expect(() => RateLimitModule.forRoot(options as never)).toThrow('RateLimitModule.forRoot() takes an object');
  });

  it('names itself in errors of its options', () => {
    expect(() => RateLimitModule.forRoot({ throttlers: [] } as never)).toThrow(
      'RateLimitModule.forRoot() has no option "throttlers"',
    );
  });

  it('registers no guard with guard: false', async () => {
    const { statuses } = await serve(platform, rootOf(RateLimitModule.forRoot({ policy, guard: false })));

    expect(await statuses('/page', 2)).toEqual([200, 200]);
  });

  it('registers a guard of the application instead of its own', async () => {
    class Lenient extends RateLimitGuard {
      protected override shouldSkip(): boolean {
        return true;
      }
    }
    const { statuses } = await serve(platform, rootOf(RateLimitModule.forRoot({ policy, guard: Lenient })));

    expect(await statuses('/page', 2)).toEqual([200, 200]);
  });

  it('gives its names back when the application closes', async () => {
    const store = memoryStore();
    const root = rootOf(RateLimitModule.forRoot({ policy, store }));
    const first = await serve(platform, root);
    await first.close();

    const second = await serve(platform, rootOf(RateLimitModule.forRoot({ policy, store })));

    expect(await second.statuses('/orders', 1)).toEqual([200]);
  });
});

describe('RateLimitModule', () => {
  const serve = untilTestEnds();
  const codeOf = (field: string, code = 'SLUICE_OPTION_INVALID') => expect.objectContaining({ field, code });

  it('denies bad options where it is written', () => {
    expect(() => RateLimitModule.forRoot({ limit: 0.5, window: '1m' })).toThrow('limit must be');
    expect(() => RateLimitModule.forRoot({ limits: 100 } as never)).toThrow('limits must be a list');
    expect(() => RateLimitModule.forRoot({ stor: memoryStore() } as never)).toThrow('did you mean "store"?');
    expect(() => RateLimitModule.forRoot({ guard: Pages as never })).toThrow(codeOf('guard'));
    expect(() => RateLimitModule.forRootAsync({})).toThrow(codeOf('forRootAsync'));
    expect(() => RateLimitModule.forRootAsync({ useClass: Limits, useFactory: () => ({}) })).toThrow(
      codeOf('forRootAsync'),
    );
  });

  it('fails the start when a factory answers bad options', async () => {
    const limits = RateLimitModule.forRootAsync({ useFactory: () => ({ limit: 0.5, window: '1m' }) });

    await expect(serve('Express', rootOf(limits))).rejects.toThrow('limit must be');
  });

  it('fails the start when it is imported twice, for every request would count twice', async () => {
    const twice = rootOf(RateLimitModule.forRoot({ policy }), RateLimitModule.forRoot({ name: 'second', policy }));

    await expect(serve('Express', twice)).rejects.toEqual(codeOf('forRoot'));
  });

  it('fails the start for a name that is taken, and then takes none', async () => {
    const store = memoryStore();
    createLimiter({ name: 'Orders.list', policy, store });

    await expect(serve('Express', rootOf(RateLimitModule.forRoot({ policy, store })))).rejects.toEqual(
      codeOf('name', 'SLUICE_LIMITER_NAME_TAKEN'),
    );

    expect(() => createLimiter({ policy, store })).not.toThrow();
  });
});
