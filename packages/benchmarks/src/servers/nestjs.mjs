import 'reflect-metadata';
import { Controller, Get, HttpException, Module } from '@nestjs/common';
import { APP_GUARD, NestFactory } from '@nestjs/core';
import { ThrottlerGuard, ThrottlerModule } from '@nestjs/throttler';
import { RateLimitModule } from '@sluice/nestjs';
import { BODY, DENIED, HANDS, sluiceOptions, WINDOW_MS } from './settings.mjs';

const modules = {
  sluice: (settings) => ({ imports: [RateLimitModule.forRoot(sluiceOptions(settings))] }),
  '@nestjs/throttler': ({ limit }) => ({
    imports: [ThrottlerModule.forRoot([{ ttl: WINDOW_MS, limit }])],
    providers: [{ provide: APP_GUARD, useClass: ThrottlerGuard }],
  }),
};

/** A module with one guard. */
function written(decide) {
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

export async function serve({ name, ...settings }) {
  // Decorators are functions: this file needs no compiler.
  class AppController {
    index() {
      return BODY;
    }
  }
  Get()(AppController.prototype, 'index', Object.getOwnPropertyDescriptor(AppController.prototype, 'index'));
  Controller()(AppController);
  class AppModule {}
  const limits = modules[name]?.(settings) ?? written(HANDS[name](settings));
  Module({ controllers: [AppController], ...limits })(AppModule);
  const app = await NestFactory.create(AppModule, { logger: ['error'] });
  await app.listen(0, '127.0.0.1');
  return app.getHttpServer();
}
