import 'reflect-metadata';
import { Controller, Get, HttpException, Module } from '@nestjs/common';
import { APP_GUARD, NestFactory } from '@nestjs/core';
import { ThrottlerGuard, ThrottlerModule } from '@nestjs/throttler';
import { RateLimitModule } from '@sluice/nestjs';
import { BODY, DENIED, WINDOW_MS } from './settings.mjs';

export const sluice = (options) => ({ imports: [RateLimitModule.forRoot(options)] });

export const peer = (limit) => ({
  imports: [ThrottlerModule.forRoot([{ ttl: WINDOW_MS, limit }])],
  providers: [{ provide: APP_GUARD, useClass: ThrottlerGuard }],
});

/** A module with one guard. */
export function written(decide) {
  const deny = () => {
    throw new HttpException(DENIED, 429);
  };
  const canActivate = (context) => {
    const http = context.switchToHttp();
    const response = http.getResponse();
    const set = (name, value) => response.header(name, value);
    return decide(http.getRequest().ip, set, () => true, deny);
  };
  return { providers: [{ provide: APP_GUARD, useValue: { canActivate } }] };
}

export async function serve(limits) {
  // Decorators are functions: this file needs no compiler.
  class AppController {
    index() {
      return BODY;
    }
  }
  Get()(AppController.prototype, 'index', Object.getOwnPropertyDescriptor(AppController.prototype, 'index'));
  Controller()(AppController);
  class AppModule {}
  Module({ controllers: [AppController], ...limits })(AppModule);
  const app = await NestFactory.create(AppModule, { logger: ['error'] });
  await app.listen(0, '127.0.0.1');
  return app.getHttpServer();
}
