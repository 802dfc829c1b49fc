/* eslint-disable @typescript-eslint/no-extraneous-class -- modules of Nest are empty */
import { describe, expect, it } from '@jest/globals';
import { Controller, Get, Injectable, Module, type DynamicModule } from '@nestjs/common';
import {
  RateLimit,
  RateLimitModule,
  createLimiter,
  fixedWindow,
  memoryStore,
  type RateLimitOptionsFactory,
  type RateLimitScopeOptions,
} from '@sluice/nestjs';
import { platforms, untilTestEnds, type RootModule } from './serve.ts';

const serve = untilTestEnds();
const policy = fixedWindow({ limit: 1, window: '1h' });

@Controller()
class Pages {
  @Get('page')
  page() {
    return 'a page';
  }

  @RateLimit({ policy })
  @Get('orders')
  orders() {
    return [];
  }
}

const rootOf = (...imports: readonly DynamicModule[]): RootModule => ({ imports: [...imports], controllers: [Pages] });

@Injectable()
class Limits implements RateLimitOptionsFactory {
  createRateLimitOptions(): RateLimitScopeOptions {
    return { policy };
  }
}

@Module({ providers: [Limits], exports: [Limits] })
class Configuration {}

describe.each(platforms)('RateLimitModule on %s', (platform) => {
  it('without a limit only says what decorators inherit', async () => {
    const store = memoryStore();
    const { ask } = await serve(platform, rootOf(RateLimitModule.forRoot({ store, headers: 'draft-7' })));

    const [free, limited] = [await ask('/page'), await ask('/orders')];

    expect(free.headers['ratelimit']).toBeUndefined();
    expect(limited.headers['ratelimit']).toMatch(/^limit=1, remaining=0, reset=\d+$/);
    expect(() => createLimiter({ name: 'Pages.orders', policy, store })).toThrow('already has a limiter named');
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

    expect(await statuses('/page', '/page')).toEqual([200, 429]);
  });

  it('gives its names back when the application closes', async () => {
    const store = memoryStore();
    const root = rootOf(RateLimitModule.forRoot({ policy, store }));
    const first = await serve(platform, root);
    await first.close();

    const second = await serve(platform, root);

    expect(await second.statuses('/orders')).toEqual([200]);
  });
});

describe('RateLimitModule', () => {
  it.each<[string, () => DynamicModule]>([
    ['RateLimitModule.forRoot() takes an object', () => RateLimitModule.forRoot([{ limit: 5, ttl: 60_000 }] as never)],
    ['RateLimitModule.forRoot() takes an object', () => RateLimitModule.forRoot(null as never)],
    ['RateLimitModule.forRoot() has no option "stor"', () => RateLimitModule.forRoot({ stor: 5 } as never)],
    ['guard must be RateLimitGuard', () => RateLimitModule.forRoot({ guard: Pages as never })],
    ['forRootAsync takes one of', () => RateLimitModule.forRootAsync({})],
    ['forRootAsync takes one of', () => RateLimitModule.forRootAsync({ useClass: Limits, useExisting: Limits })],
  ])('is not made from bad options: %s', (message, make) => {
    expect(make).toThrow(message);
  });

  it.each<[string, readonly DynamicModule[]]>([
    ['RateLimitModule: limit must be', [RateLimitModule.forRoot({ limit: 0.5, window: '1m' })]],
    [
      'RateLimitModule: limit must be',
      [RateLimitModule.forRootAsync({ useFactory: () => ({ limit: 0.5, window: '1m' }) })],
    ],
    ['forRoot() is imported more than once', [RateLimitModule.forRoot(), RateLimitModule.forRoot({ policy })]],
  ])('fails the start: %s', async (message, imports) => {
    await expect(serve('Express', rootOf(...imports))).rejects.toThrow(message);
  });

  it('fails the start for a name that is taken, and then takes none', async () => {
    const store = memoryStore();
    createLimiter({ name: 'Pages.orders', policy, store });

    const start = serve('Express', rootOf(RateLimitModule.forRoot({ policy, store })));

    await expect(start).rejects.toMatchObject({ field: 'name', code: 'SLUICE_LIMITER_NAME_TAKEN' });
    expect(() => createLimiter({ policy, store })).not.toThrow();
  });
});
