import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import type { ChildProcess } from 'node:child_process';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { once } from 'node:events';
import { loadParser } from '../../src/project/parser.ts';

/** The text is so long that it is parsed in the other process. */
const long = (text: string): string => `${text}\n${'// more\n'.repeat(500)}`;

let children: ChildProcess[] = [];
const remember = (message: unknown): void => {
  children.push((message as { readonly process: ChildProcess }).process);
};

/** The process that was started last. */
function child(): ChildProcess {
  return children.at(-1) as ChildProcess;
}

async function ended(): Promise<void> {
  const disconnected = once(child(), 'disconnect');
  const exited = once(child(), 'exit');
  child().kill('SIGKILL');
  await Promise.all([disconnected, exited]);
}

beforeEach(() => {
  children = [];
  subscribe('child_process', remember);
});
afterEach(() => {
  unsubscribe('child_process', remember);
  for (const each of children) each.kill('SIGKILL');
});

describe('the process of the parser', () => {
  it('may have ended before it is closed', async () => {
    const parser = await loadParser();
    await parser.parse('a.ts', long('one()'));
    await ended();

    expect(() => {
      parser.close();
    }).not.toThrow();
  });

  it('is another one for the next file when it has ended', async () => {
    const parser = await loadParser();
    await parser.parse('a.ts', long('one()'));
    await ended();

    expect(await parser.parse('b.ts', long('two()'))).toMatchObject({ program: { type: 'Program' } });
    expect(children).toHaveLength(2);
    parser.close();
  });

  it('keeps the values of regular expressions and large integers', async () => {
    const parser = await loadParser();

    const { program } = await parser.parse('a.ts', long('/x/g; 10n'));

    parser.close();
    const body = program['body'] as readonly { readonly expression: { readonly value: unknown } }[];
    expect(body.map(({ expression }) => String(expression.value))).toEqual(['/x/g', '10']);
    expect(typeof body[1]?.expression.value).toBe('bigint');
  });

  it('says of a program that is too deep that it is, and answers on', async () => {
    const parser = await loadParser();

    await expect(parser.parse('a.ts', long(Array(1500).fill('1').join('+')))).rejects.toThrow(/^it nests too deep$/);
    expect(await parser.parse('b.ts', long('two()'))).toMatchObject({ program: { type: 'Program' } });
    expect(children).toHaveLength(1);
    parser.close();
  });

  it('sends a program of almost as many levels as are read', async () => {
    const parser = await loadParser();

    const { program } = await parser.parse('a.ts', long(Array(950).fill('1').join('+')));

    parser.close();
    expect(program.type).toBe('Program');
  });

  it('takes no options from the environment', async () => {
    process.env['NODE_OPTIONS'] = '--require=/is/not/there.cjs';
    const parser = await loadParser();

    const parsing = parser.parse('a.ts', long('one()'));
    delete process.env['NODE_OPTIONS'];

    expect(await parsing).toMatchObject({ program: { type: 'Program' } });
    parser.close();
  });

  it('that cannot be started is an error of the file, and of nothing else', async () => {
    const { execPath } = process;
    const parser = await loadParser();
    process.execPath = '/is/not/there';
    const parsing = parser.parse('a.ts', long('one()'));
    process.execPath = execPath;
    const closed = new Promise((resolve) => child().once('close', resolve));

    await expect(parsing).rejects.toThrow('ENOENT');
    await closed;
    parser.close();
  });

  it('is killed when it has not answered within 60 s', async () => {
    jest.useFakeTimers({ doNotFake: ['nextTick', 'setImmediate', 'queueMicrotask'] });
    try {
      const parser = await loadParser();
      const parsing = parser.parse('src/a.ts', long('one()'));
      child().kill('SIGSTOP');
      const exited = once(child(), 'exit');

      jest.advanceTimersByTime(60_000);

      await expect(parsing).rejects.toThrow('the parser has not answered for src/a.ts within 60 s');
      expect((await exited)[1]).toBe('SIGKILL');
      parser.close();
    } finally {
      jest.useRealTimers();
    }
  });
});
