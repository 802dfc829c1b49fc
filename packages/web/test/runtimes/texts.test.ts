import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { describe, expect, it } from '@jest/globals';
import { runtimes } from '@sluice/testkit';

const program = new URL('texts.program.mjs', import.meta.url);

describe.each(runtimes())('a text on $name', ({ commandOf }) => {
  it('keeps its type where a limit follows the body: a browser would guess another', async () => {
    const [file, ...args] = commandOf(program);

    const { stdout } = await promisify(execFile)(file, args);

    const type = 'text/plain;charset=utf-8';
    expect(JSON.parse(stdout)).toEqual({ plain: type, limited: type, hono: type });
  });
});
