import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { describe, expect, it } from '@jest/globals';
import { runtimes } from '@sluice/testkit';
import { countInShort } from '@sluice/testkit/contract';
import { impossibleInHono, impossibleOn } from '../impossible.ts';

const program = new URL('smoke.program.ts', import.meta.url);
const texts = new URL('texts.program.mjs', import.meta.url);

describe.each(runtimes())('on $name', ({ name, test, commandOf }) => {
  it('the contract in short holds, under its test runner, for fetch handlers and for Hono', async () => {
    expect(await test(program)).toBe(countInShort(impossibleOn(name)) + countInShort(impossibleInHono(name)));
  });

  it('a text keeps its type where a limit follows the body: a browser would guess another', async () => {
    const [file, ...args] = commandOf(texts);

    const { stdout } = await promisify(execFile)(file, args);

    const type = 'text/plain;charset=utf-8';
    expect(JSON.parse(stdout)).toEqual({ plain: type, limited: type, hono: type });
  });
});
