import { Module, type MiddlewareConsumer, type NestModule } from '@nestjs/common';
import { APP_GUARD } from '@nestjs/core';
import { RateLimitMiddleware, RateLimitModule, memoryStore, redisStore, slidingWindow } from '@sluice/nestjs';
import { AppController } from './app.controller.ts';
import { AuthGuard } from './auth.guard.ts';

const { REDIS_URL = '' } = process.env;

@Module({
  imports: [
    // Those of `@RateLimit()` take over the store and the time: a decision that Redis has not made by then is made in
    // the memory of this process.
    RateLimitModule.forRoot({
      store: REDIS_URL === '' ? memoryStore() : redisStore(REDIS_URL, { prefix: 'sluice:example-nestjs' }),
      timeoutMs: 1000,
      name: 'service',
      policy: slidingWindow({ limit: 60, window: '1m' }),
    }),
  ],
  controllers: [AppController],
  // Guards of the root module run before those of imported ones, so the guard that limits knows the user.
  providers: [{ provide: APP_GUARD, useClass: AuthGuard }],
})
export class AppModule implements NestModule {
  /** The limit of the service runs before the authentication, and applies to paths without a route. */
  configure(consumer: MiddlewareConsumer): void {
    consumer.apply(RateLimitMiddleware).forRoutes('{*path}');
  }
}
