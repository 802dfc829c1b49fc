import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { contractParts } from '@sluice/testkit/contract';

describe.each(['express', 'fastify', 'koa', 'nestjs'])('the tests of %s', (adapter) => {
  it.each(contractParts)('run the part of the contract about %s', (part) => {
    const file = new URL(`../../${adapter}/test/contract/${part}.test.ts`, import.meta.url);

    expect(readFileSync(file, 'utf8')).toMatch(new RegExp(`^[^/]*describeAdapter\\(.*'${part}'\\);$`, 'm'));
  });
});
