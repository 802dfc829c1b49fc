import { describeAdapter } from '@sluice/testkit';
import { koa2, koa3 } from '../target.ts';

for (const target of [koa3, koa2]) describeAdapter(target, ['keys']);
