import 'reflect-metadata';
import { Controller, Get, HttpException, Module } from '@nestjs/common';
import { APP_GUARD, NestFactory } from '@nestjs/core';
import { ThrottlerGuard, ThrottlerModule } from '@nestjs/throttler';
import { RateLimitModule } from '@sluice/nestjs';
import { BODY, DENIED, fieldsByHand, flexible, sluiceOptions, WINDOW_MS } from './settings.mjs';

/** A module with one guard, which gets the request and a function that sets a header field. */
const guarded = (canActivate) => {
  const guard = {
    canActivate(context) {
      const http = context.switchToHttp();
      const response = http.getResponse();
      return canActivate(http.getRequest(), (name, value) => response.header(name, value));
    },
  };
  return { providers: [{ provide: APP_GUARD, useValue: guard }] };
};

const modules = {
  'by hand': (settings) => {
    const write = fieldsByHand(settings);
    return guarded((_request, set) => {
      write(set);
      return true;
    });
  },
  sluice: (settings) => ({ imports: [RateLimitModule.forRoot(sluiceOptions(settings))] }),
  '@nestjs/throttler': ({ limit }) => ({
    imports: [ThrottlerModule.forRoot([{ ttl: WINDOW_MS, limit }])],
    providers: [{ provide: APP_GUARD, useClass: ThrottlerGuard }],
  }),
  'rate-limiter-flexible': (settings) => {
    const consume = flexible(settings);
    const deny = () => {
      throw new HttpException(DENIED, 429);
    };
    return guarded(({ ip }, set) => consume(ip, set, () => true, deny));
  },
};

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
  Module({ controllers: [AppController], ...modules[name](settings) })(AppModule);
  const app = await NestFactory.create(AppModule, { logger: ['error'] });
  await app.listen(0, '127.0.0.1');
  return app.getHttpServer();
}
