// Stands for `@jest/globals` where `node:test` is the test runner: under Deno.
import { createRequire } from 'node:module';
import { after, afterEach, before, beforeEach, describe as block, it as test } from 'node:test';

const ofTestkit = createRequire(new URL('../package.json', import.meta.url));
const { bind } = ofTestkit('jest-each');

export const { expect } = ofTestkit('expect');
export const describe = Object.assign((title, body) => void block(title, body), { each: bind(describeOne, false) });
export const it = Object.assign(defineTest, { each: bind(defineTest, false) });
export { after as afterAll, afterEach, before as beforeAll, beforeEach };

function describeOne(title, body) {
  void block(title, body);
}

function defineTest(title, body) {
  void test(title, async () => body());
}
