import { describeAdapter } from '@sluice/testkit/contract';
import { nestOnFastify } from '../adapter.ts';

describeAdapter(nestOnFastify);
