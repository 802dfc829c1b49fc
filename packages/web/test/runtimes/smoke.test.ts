import { describe, expect, it } from '@jest/globals';
import { runtimes } from '@sluice/testkit';
import { smoke } from '@sluice/testkit/contract';
import { impossibleInHono, impossibleOn } from '../impossible.ts';

const program = new URL('smoke.program.ts', import.meta.url);

describe.each(runtimes())('under the test runner of $name', ({ name, test }) => {
  it('the contract in short holds for fetch handlers and for Hono', async () => {
    const possible = [impossibleOn(name), impossibleInHono(name)].flatMap((impossible) =>
      smoke.filter((title) => !(title in impossible)),
    );

    expect(await test(program)).toBe(possible.length);
  });
});
