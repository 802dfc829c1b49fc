/* eslint-disable @typescript-eslint/no-extraneous-class -- modules of Nest are empty */
import 'reflect-metadata';
import { describe, it } from '@jest/globals';
import { Controller, Get, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { ExpressAdapter } from '@nestjs/platform-express';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { RateLimitModule, fixedWindow } from '@sluice/nestjs';
import { expectLimited } from '@sluice/old-testing';

@Controller()
class Hello {
  @Get('limited')
  limited(): string {
    return 'hello';
  }
}

@Module({
  imports: [RateLimitModule.forRoot({ policy: fixedWindow({ limit: 3, window: '1m' }) })],
  controllers: [Hello],
})
class Application {}

describe('expectLimited passes for a NestJS application', () => {
  it.each([
    ['Express', () => new ExpressAdapter()],
    ['Fastify', () => new FastifyAdapter()],
  ])('on %s', async (_name, adapter) => {
    const settings = { logger: false } as const;
    const app = await NestFactory.create(Application, adapter(), settings);

    await expectLimited(app, { path: '/limited', limit: 3 });
    await app.close();
  });
});
