// The contract in short, under the test runner of Bun or Deno, with Express on its server.
import { describeInShort } from '@sluice/testkit/contract';
import { express5 } from '../adapter.ts';

describeInShort(express5);
