import 'reflect-metadata';
import { Controller, Get, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { RateLimitModule } from '@sluice/nestjs';
import { register } from 'prom-client';
import { collectMetrics } from '@sluice/core/metrics';
import { metricsCount, threeRequests } from './limited.mjs';

collectMetrics();
class AppController {
  get() {
    return 'ok';
  }
}
// Decorators without their syntax, which Node.js does not have.
Get()(AppController.prototype, 'get', Object.getOwnPropertyDescriptor(AppController.prototype, 'get'));
Controller()(AppController);
class AppModule {}
Module({ imports: [RateLimitModule.forRoot({ limit: 2, window: '1m' })], controllers: [AppController] })(AppModule);
const app = await NestFactory.create(AppModule, { logger: false });
await app.listen(0, '127.0.0.1');
await threeRequests(app.getHttpServer().address().port);
await metricsCount(register);
process.exit(0);
