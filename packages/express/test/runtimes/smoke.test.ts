import { describe, expect, it } from '@jest/globals';
import { runtimes, smoke } from '@sluice/testkit';

const program = new URL('smoke.program.ts', import.meta.url);

describe.each(runtimes())('under the test runner of $name', ({ test }) => {
  it('the contract in short holds for Express', async () => {
    expect(await test(program)).toBe(smoke.length);
  });
});
