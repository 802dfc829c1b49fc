import { describeAdapter } from '@sluice/testkit';
import { nestOnExpress, nestOnFastify } from '../target.ts';

for (const target of [nestOnExpress, nestOnFastify]) describeAdapter(target, ['answers']);
