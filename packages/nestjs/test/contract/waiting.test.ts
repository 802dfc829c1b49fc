import { describeAdapter } from '@sluice/testkit/contract';
import { nestOnExpress, nestOnFastify } from '../adapter.ts';

for (const adapter of [nestOnExpress, nestOnFastify]) describeAdapter(adapter, 'waiting');
