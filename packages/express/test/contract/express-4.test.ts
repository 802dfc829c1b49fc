import { describeAdapter } from '@sluice/testkit/contract';
import { express4 } from '../adapter.ts';

describeAdapter(express4);
