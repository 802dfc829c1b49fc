import { describeAdapter } from '@sluice/testkit/contract';
import { express4, express5 } from './adapter.ts';

for (const adapter of [express5, express4]) describeAdapter(adapter);
