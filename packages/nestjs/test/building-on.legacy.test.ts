import { afterEach, describe, expect, it } from '@jest/globals';
import { Controller, Get, Inject, Req, Res } from '@nestjs/common';
import { answer } from '@sluice/old-http/spi';
import {
  RateLimit,
  RateLimitModule,
  RateLimits,
  SkipRateLimit,
  fixedWindow,
  framework,
  type NestRequest,
  type NestResponse,
  type Policy,
} from '@sluice/nestjs';
import { platforms, untilTestEnds } from './serve.ts';

const policy = fixedWindow({ limit: 1, window: '1h' });
const { record } = framework;
afterEach(() => {
  framework.record = record;
});

@Controller()
class Built {
  readonly #limits: RateLimits;

  constructor(@Inject(RateLimits) limits: RateLimits) {
    this.#limits = limits;
  }

  @Get('later')
  @SkipRateLimit()
  async later(@Req() request: NestRequest, @Res() response: NestResponse) {
    const plan = await this.#limits.enforce('default', request, response);
    const before = response.getHeader('RateLimit') ?? 'none';
    if (await answer(framework, plan, request, response)) response.send({ before });
  }

  @Get('recorded')
  recorded(@Req() request: NestRequest) {
    return { quota: (request as { quota?: number }).quota, rateLimit: request.rateLimit };
  }

  @Get('plans')
  @RateLimit({ name: 'plans', policy: (): Policy => fixedWindow({ name: 'free', limit: 1, window: '1h' }) })
  @SkipRateLimit('default')
  async plans(@Req() request: NestRequest) {
    const limiter = await this.#limits.limiterFor('plans', request);
    await limiter.reset(await this.#limits.keyFor('plans', request));
    return '';
  }
}

describe.each(platforms)('building on the adapter of NestJS on %s', (platform) => {
  const serve = untilTestEnds();
  const module = () => ({ imports: [RateLimitModule.forRoot({ policy })], controllers: [Built] });

  it('can decide first and write the response later', async () => {
    const { fetch } = await serve(platform, module());

    const answers = [await fetch('/later'), await fetch('/later')];

    expect(answers.map(({ status }) => status)).toEqual([200, 429]);
    expect(await answers[0]?.json()).toEqual({ before: 'none' });
    expect(answers[1]?.headers.get('ratelimit')).toContain('"default";r=0');
  });

  it('can record the decision in another place', async () => {
    framework.record = (request, { decision }) => {
      Object.assign(request, { quota: decision.remaining });
    };
    const { fetch } = await serve(platform, module());

    expect(await (await fetch('/recorded')).json()).toEqual({ quota: 0 });
  });

  it('can reset what a request uses where a function picks the policy', async () => {
    const { statuses } = await serve(platform, module());

    expect(await statuses('/plans', 3)).toEqual([200, 200, 200]);
  });
});
