import { fork, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runInNewContext } from 'node:vm';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { buildSync } from 'esbuild';

const folder = mkdtempSync(join(tmpdir(), 'sluice-platform-'));
afterAll(() => {
  rmSync(folder, { recursive: true });
});

/** A program of core's sources in one text, for a runtime that has no modules of Node.js. */
function bundle(contents: string): string {
  const { outputFiles } = buildSync({
    stdin: { contents, resolveDir: join(import.meta.dirname, '../../src') },
    ...{ bundle: true, write: false, format: 'iife', platform: 'browser', conditions: ['@sluice/source'] },
  });
  return outputFiles[0]?.text ?? '';
}

describe('a runtime without Node.js', () => {
  it('has clocks, timers, guards and warnings; its channels have no subscribers', async () => {
    const text = bundle(`
      import { decisions, subscribe } from './channels.ts';
      import { findGuard } from './guard/guard.ts';
      import { detached, isClusterWorker, makeLocalClock } from './platform.ts';
      import { warnOnce } from './warnings.ts';
      const guard = findGuard({ source: 'own', perform: () => new Promise(() => undefined) });
      subscribe(decisions, () => undefined);
      warnOnce('SLUICE_STORE_AWAY', 'away');
      done((async () => [
        detached(() => 'run'), isClusterWorker(), decisions.hasSubscribers, makeLocalClock().now() > 1e12,
        await guard.perform('take', [], performance.now() + 5).catch(({ code }) => code),
      ])());`);
    let result: Promise<unknown> | undefined;
    const warnings: unknown[] = [];
    const globals = {
      ...{ performance, clearTimeout, console: { warn: (text: unknown) => warnings.push(text) } },
      setTimeout: (call: (value: unknown) => void, ms: number, value: unknown) => Number(setTimeout(call, ms, value)),
      done: (promise: Promise<unknown>) => (result = promise),
    };

    runInNewContext(text, globals);

    expect(await result).toEqual(['run', false, false, true, 'SLUICE_STORE_TIMEOUT']);
    expect(warnings).toEqual(['[SLUICE_STORE_AWAY] away']);
  });
});

describe('isClusterWorker', () => {
  let program: string;
  beforeAll(() => {
    program = join(folder, 'program.cjs');
    const contents = `
      import { isClusterWorker } from './platform.ts';
      const answer = String(isClusterWorker());
      if (process.send !== undefined) process.send(answer, () => process.exit());
      else console.log(answer, process.moduleLoadList.includes('NativeModule cluster'));`;
    writeFileSync(program, bundle(contents));
  });

  it('is true in a worker of a cluster; not in a process of its own, which loads nothing, nor in a child', async () => {
    const primary = `
      const cluster = require('node:cluster');
      cluster.setupPrimary({ exec: ${JSON.stringify(program)}, execArgv: [] });
      cluster.fork().on('message', (answer) => console.log(answer));`;
    const [own, worker] = [[program], ['-e', primary]].map((args) =>
      spawnSync(process.execPath, args, { encoding: 'utf8' }).stdout.trim(),
    );

    expect([own, worker, (await once(fork(program), 'message'))[0]]).toEqual(['false false', 'true', 'false']);
  });
});
