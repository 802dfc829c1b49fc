import { describe, expect, it } from '@jest/globals';
import { runtimes } from '@sluice/testkit';

const program = new URL('stores.program.ts', import.meta.url);

describe.each(runtimes())('under the test runner of $name', ({ test }) => {
  it('the contract of stores holds in memory and in Redis', async () => {
    expect(await test(program)).toBeGreaterThan(140);
  });
});
