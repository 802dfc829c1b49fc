import { describeAdapter } from '@sluice/testkit/contract';
import { web } from '../adapters.ts';

describeAdapter(web);
