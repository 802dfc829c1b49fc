import { describeAdapter } from '@sluice/testkit/contract';
import { express5 } from '../adapter.ts';

describeAdapter(express5);
