import 'reflect-metadata';
import { Controller, Get, HttpException, Module } from '@nestjs/common';
import { APP_GUARD, NestFactory } from '@nestjs/core';
import { ThrottlerGuard, ThrottlerModule } from '@nestjs/throttler';
import { ThrottlerStorageRedisService } from '@nest-lab/throttler-storage-redis';
import { RateLimitModule } from '@sluice/nestjs';
import { DENIED, flexible } from './flexible.mjs';
import { BODY, LIMIT, WINDOW_MS, clientOf, fieldsByHand, listening, sluiceOptions } from './settings.mjs';

const modules = {
  bare: () => ({}),
  'by hand': () => {
    const write = fieldsByHand();
    const guard = {
      canActivate(context) {
        const response = context.switchToHttp().getResponse();
        write((name, value) => response.header(name, value));
        return true;
      },
    };
    return { providers: [{ provide: APP_GUARD, useValue: guard }] };
  },
  sluice: (redisUrl) => ({ imports: [RateLimitModule.forRoot(sluiceOptions(redisUrl))] }),
  '@nestjs/throttler': (redisUrl) => ({
    imports: [
      ThrottlerModule.forRoot({
        throttlers: [{ ttl: WINDOW_MS, limit: LIMIT }],
        ...(redisUrl === undefined ? {} : { storage: new ThrottlerStorageRedisService(clientOf(redisUrl)) }),
      }),
    ],
    providers: [{ provide: APP_GUARD, useClass: ThrottlerGuard }],
  }),
  'rate-limiter-flexible': (redisUrl) => {
    const consume = flexible(redisUrl);
    const deny = () => {
      throw new HttpException(DENIED, 429);
    };
    const guard = {
      canActivate(context) {
        const http = context.switchToHttp();
        const response = http.getResponse();
        return consume(
          http.getRequest().ip,
          (name, value) => response.header(name, value),
          () => true,
          deny,
        );
      },
    };
    return { providers: [{ provide: APP_GUARD, useValue: guard }] };
  },
};

export async function serve({ contender, redisUrl, proxy }) {
  // Decorators are functions: this file needs no compiler.
  class AppController {
    index() {
      return BODY;
    }
  }
  Get()(AppController.prototype, 'index', Object.getOwnPropertyDescriptor(AppController.prototype, 'index'));
  Controller()(AppController);
  class AppModule {}
  Module({ controllers: [AppController], ...modules[contender](redisUrl) })(AppModule);
  const app = await NestFactory.create(AppModule, { logger: ['error'] });
  if (proxy) app.set('trust proxy', 'loopback');
  await app.listen(0, '127.0.0.1');
  return listening(app.getHttpServer(), () => app.close());
}
