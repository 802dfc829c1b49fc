// The contract in short, under the test runner of Bun or Deno, with Express on its server.
import { describeAdapter, smoke } from '@sluice/testkit/contract';
import { express5 } from '../adapter.ts';

describeAdapter(express5, smoke);
