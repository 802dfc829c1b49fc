import { describeAdapter } from '@sluice/testkit/contract';
import { koa2, koa3 } from '../adapter.ts';

for (const adapter of [koa3, koa2]) describeAdapter(adapter, 'keys');
