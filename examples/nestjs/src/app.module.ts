import { Module, type MiddlewareConsumer, type NestModule, type OnApplicationShutdown } from '@nestjs/common';
import { APP_GUARD } from '@nestjs/core';
import { rateLimit, slidingWindow } from '@sluice/express';
import { RateLimitModule, memoryStore, redisStore } from '@sluice/nestjs';
import { AppController } from './app.controller.ts';
import { AuthGuard } from './auth.guard.ts';

const { REDIS_URL = '' } = process.env;

// What all limits share: a decision that Redis has not made by then is made in the memory of this process.
const shared = {
  store: REDIS_URL === '' ? memoryStore() : redisStore(REDIS_URL, { prefix: 'sluice:example-nestjs' }),
  timeoutMs: 1000,
};

// Guards see neither paths without a route nor what an authentication ahead of them rejects. So the limit of the service
// is a middleware of the platform.
const service = rateLimit({ ...shared, name: 'service', policy: slidingWindow({ limit: 60, window: '1m' }) });

@Module({
  // Without a limit of its own: what those of `@RateLimit()` take over.
  imports: [RateLimitModule.forRoot(shared)],
  controllers: [AppController],
  // Guards of the root module run before those of imported ones, so the guard that limits knows the user.
  providers: [{ provide: APP_GUARD, useClass: AuthGuard }],
})
export class AppModule implements NestModule, OnApplicationShutdown {
  configure(consumer: MiddlewareConsumer): void {
    consumer.apply(service).forRoutes('{*path}');
  }

  async onApplicationShutdown(): Promise<void> {
    await service.limiter.close(); // the last limit that closes closes the store
  }
}
