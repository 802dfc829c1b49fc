import { describe, expect, it } from '@jest/globals';
import { runtimes } from '@sluice/testkit';
import { countInShort } from '@sluice/testkit/contract';

const program = new URL('smoke.program.ts', import.meta.url);

describe.each(runtimes())('under the test runner of $name', ({ test }) => {
  it('the contract in short holds for Express', async () => {
    expect(await test(program)).toBe(countInShort());
  });
});
