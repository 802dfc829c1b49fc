import { describeAdapter } from '@sluice/testkit';
import { nestOnExpress, nestOnFastify } from '../adapter.ts';

for (const adapter of [nestOnExpress, nestOnFastify]) describeAdapter(adapter, 'keys');
