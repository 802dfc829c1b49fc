import { describeAdapter } from '@sluice/testkit/contract';
import { koa3 } from '../adapter.ts';

describeAdapter(koa3);
