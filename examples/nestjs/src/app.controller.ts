import { Body, Controller, Get, HttpCode, Post, Req, UnauthorizedException } from '@nestjs/common';
import { RateLimit, byIp, byUser, fixedWindow } from '@sluice/nestjs';
import { accountOf, logIn } from './accounts.ts';
import { Public, type AppRequest } from './auth.guard.ts';

// Named, so that each plan has its own state: a user who changes plans starts with a new one.
const plans = {
  free: fixedWindow({ limit: 10, window: '1m', name: 'free' }),
  paid: fixedWindow({ limit: 100, window: '1m', name: 'paid' }),
};

const account = ({ body }: AppRequest): string => accountOf(body);

@Controller()
export class AppController {
  @Public()
  @Get()
  index(@Req() { ip, rateLimit }: AppRequest): object {
    return { address: ip, left: rateLimit?.decision.remaining };
  }

  // An expensive route.
  @Public()
  @RateLimit({ name: 'report', policy: fixedWindow({ limit: 3, window: '1h' }) })
  @Get('report')
  report(): object {
    return { rows: Array.from({ length: 1000 }, (_, i) => i * i) };
  }

  // The tight limit affects only failures; the wide one stops guesses from many addresses. They are decided
  // together, and successful logins are refunded.
  @Public()
  @RateLimit<AppRequest>({
    name: 'login',
    limits: [
      { name: 'login', policy: fixedWindow({ limit: 5, window: '1m' }), key: [byIp(), account], onMissingKey: 'deny' },
      { name: 'account', policy: fixedWindow({ limit: 20, window: '1h' }), key: account, onMissingKey: 'deny' },
    ],
    refund: 'on-success',
  })
  @Post('login')
  @HttpCode(200)
  logIn(@Body() body: unknown): object {
    const token = logIn(body);
    if (token === undefined) throw new UnauthorizedException('wrong user or password');
    return { token };
  }

  // By user; how much depends on the plan.
  @RateLimit<AppRequest>({ name: 'orders', policy: ({ user }) => plans[user?.plan ?? 'free'], key: byUser() })
  @Get('orders')
  orders(@Req() { user }: AppRequest): object {
    return { user: user?.id, orders: [] };
  }
}
