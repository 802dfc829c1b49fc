// An application of NestJS that @nestjs/throttler and @sluice/nestjs limit: prints the statuses of its requests, and what
// Sluice decided. Decorators are called by hand, because this file is not compiled.
import 'reflect-metadata';
import { Controller, Get, Module } from '@nestjs/common';
import { APP_GUARD, NestFactory } from '@nestjs/core';
import { ThrottlerGuard, ThrottlerModule } from '@nestjs/throttler';
import { NestStorage } from '@sluice/compat/stores';
import { RateLimitModule, fixedWindow } from '@sluice/nestjs';

class Answers {
  good() {
    return 'good';
  }
}
Get()(Answers.prototype, 'good', Object.getOwnPropertyDescriptor(Answers.prototype, 'good'));
Controller()(Answers);

const decided = [];
class Application {}
Module({
  imports: [
    ThrottlerModule.forRoot({ throttlers: [{ ttl: 60_000, limit: 2 }], storage: new NestStorage() }),
    RateLimitModule.forRoot({
      policy: fixedWindow({ limit: 1, window: '1m' }),
      mode: 'report',
      headers: false,
      onDecision: ({ allowed }) => void decided.push(allowed),
    }),
  ],
  controllers: [Answers],
  providers: [{ provide: APP_GUARD, useClass: ThrottlerGuard }],
})(Application);

const app = await NestFactory.create(Application, { logger: false });
await app.listen(0, '127.0.0.1');
const statuses = [];
for (let i = 0; i < 3; i++)
  statuses.push((await fetch(`http://127.0.0.1:${app.getHttpServer().address().port}/`)).status);
await app.close();
console.log(JSON.stringify({ statuses, decided }));
