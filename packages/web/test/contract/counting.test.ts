import { describeAdapter } from '@sluice/testkit';
import { web } from '../adapters.ts';

describeAdapter(web, 'counting');
