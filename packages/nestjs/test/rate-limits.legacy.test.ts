import { describe, expect, it } from '@jest/globals';
import { Controller, Get, Inject, Post, Req } from '@nestjs/common';
import {
  RateLimit,
  RateLimitModule,
  RateLimits,
  byHeader,
  byIp,
  fixedWindow,
  type KeyByLimit,
  type NestRequest,
  type Policy,
} from '@sluice/nestjs';
import { platforms, untilTestEnds } from './serve.ts';

const once = fixedWindow({ limit: 1, window: '1h' });

@Controller()
class Accounts {
  readonly #limits: RateLimits;

  constructor(@Inject(RateLimits) limits: RateLimits) {
    this.#limits = limits;
  }

  @Get('login')
  @RateLimit({ name: 'login', policy: once })
  async login(@Req() request: NestRequest) {
    const key = await this.#limits.keyFor('login', request);
    await this.#limits.limiter('login').reset(key);
    return key;
  }

  @Post('block')
  @RateLimit({
    name: 'block',
    limits: [
      { name: 'per-ip', policy: fixedWindow({ limit: 9, window: '1h' }), key: byIp() },
      { name: 'per-user', policy: fixedWindow({ limit: 9, window: '1h' }), key: byHeader('x-user') },
    ],
  })
  async block(@Req() request: NestRequest) {
    const keys = await this.#limits.keyFor<KeyByLimit>('block', request);
    await this.#limits.limiter<KeyByLimit>('block').block({ 'per-user': keys['per-user'] }, '1h');
    return keys;
  }

  @Get('plans')
  @RateLimit({ name: 'plans', policy: (): Policy => fixedWindow({ name: 'free', limit: 1, window: '1h' }) })
  plans() {
    return '';
  }
}

describe.each(platforms)('RateLimits on %s', (platform) => {
  const serve = untilTestEnds();
  const module = () => ({ imports: [RateLimitModule.forRoot()], controllers: [Accounts] });

  it('lets a handler reset what limits it', async () => {
    const { fetch, statuses } = await serve(platform, module());

    expect(await (await fetch('/login')).text()).toBe('127.0.0.1');
    expect(await statuses('/login', 3)).toEqual([200, 200, 200]);
  });

  it('has a key for each of several limits', async () => {
    const { fetch } = await serve(platform, module());
    const as = (user: string) => fetch('/block', { method: 'POST', headers: { 'x-user': user } });

    expect(await (await as('ann')).json()).toEqual({ 'per-ip': '127.0.0.1', 'per-user': 'ann' });
    expect((await as('ann')).status).toBe(429);
    expect((await as('bob')).status).toBe(201);
  });

  it('says which limiters there are, and where there is not one', async () => {
    const { app } = await serve(platform, module());
    const limits = app.get(RateLimits);

    expect(() => limits.limiter('logn')).toThrow('there is no limiter named "logn"; known: login, block, plans');
    expect(() => limits.limiter('plans')).toThrow('a function picks the policy');
    await expect(limits.keyFor('logn', {})).rejects.toThrow('there is no limiter named');
  });
});
