// Stands for `@jest/globals` where `node:test` is the test runner: under Deno.
import { createRequire } from 'node:module';
import { after, afterEach, before, beforeEach, describe as block, it as test } from 'node:test';

const { expect } = createRequire(new URL('../package.json', import.meta.url))('expect');

export { expect, after as afterAll, afterEach, before as beforeAll, beforeEach };

export function describe(title, body) {
  void block(title, body);
}

export function it(title, body) {
  void test(title, async () => body());
}
