import { describeAdapter } from '@sluice/testkit';
import { web } from '../targets.ts';

describeAdapter(web, ['answers']);
