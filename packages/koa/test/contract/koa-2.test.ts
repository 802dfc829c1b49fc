import { describeAdapter } from '@sluice/testkit/contract';
import { koa2 } from '../adapter.ts';

describeAdapter(koa2);
