import { describeAdapter } from '@sluice/testkit';
import { koa2, koa3 } from './target.ts';

describeAdapter(koa3);
describeAdapter(koa2);
