// The contract in short, under the test runner of Bun or Deno, with Express on its server.
import { describeAdapter, smoke } from '@sluice/testkit/contract';
import { adapterOf } from '../adapter.ts';
import { frameworks } from '../frameworks.ts';

const [express] = frameworks as [(typeof frameworks)[number]];
describeAdapter(adapterOf(express), smoke);
