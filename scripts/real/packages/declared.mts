// An application may export what it has made, and emit declarations of it: their types have names.
import { byIp, denialFor, fieldWriter, type Decision } from '@sluice/express';
import { sluice } from '@sluice/fastify';
import { RateLimit } from '@sluice/koa';
import { rateLimit } from '@sluice/web';

export const key = byIp();
export const write = fieldWriter('draft-7');
export const denial = denialFor({} as Decision);
export const plugin = sluice;
export const decorator = RateLimit({ limit: 1, window: '1m' });
export const { handle, check } = rateLimit({ limit: 1, window: '1m', key: () => 'all' });
