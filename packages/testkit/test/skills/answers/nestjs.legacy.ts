/* eslint-disable @typescript-eslint/no-extraneous-class -- modules of Nest are empty */
import 'reflect-metadata';
import { Controller, Get, Module } from '@nestjs/common';
import { RateLimit, RateLimitModule, SkipRateLimit, byHeader, fixedWindow } from '@sluice/nestjs';

@Controller()
class Reports {
  @Get('report')
  @RateLimit({ policy: fixedWindow({ limit: 1, window: '1h' }), key: byHeader('x-user') })
  report(): string {
    return 'report';
  }

  @Get('health')
  @SkipRateLimit()
  health(): string {
    return 'well';
  }
}

@Module({ imports: [RateLimitModule.forRoot({ limit: 100, window: '1m' })], controllers: [Reports] })
export class AppModule {}
