import { describeAdapter } from '@sluice/testkit/contract';
import { nestOnExpress } from '../adapter.ts';

describeAdapter(nestOnExpress);
