import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from '@jest/globals';

const child = fileURLToPath(new URL('../children/cluster-modules.mjs', import.meta.url));

interface Loaded {
  readonly onImport: string;
  readonly afterwards: string;
}

/** The modules of node:cluster that core, as it is built, loads where this condition of its `imports` holds. */
async function clusterModules(condition: string): Promise<Loaded> {
  // With a channel to its parent, as a worker of node:cluster has it.
  const forked = fork(child, { execArgv: [`--conditions=${condition}`] });
  const [loaded] = (await once(forked, 'message')) as [Loaded];
  await once(forked, 'exit');
  return loaded;
}

describe('core', () => {
  it.each(['bun', 'deno'])('loads no node:cluster under the condition %s', async (condition) => {
    expect(await clusterModules(condition)).toEqual({ onImport: '', afterwards: '' });
  });

  it('loads node:cluster on Node.js for a limiter in memory, where warnings are about its workers', async () => {
    const { onImport, afterwards } = await clusterModules('node');

    expect(onImport).toBe('');
    expect(afterwards).toContain('NativeModule cluster');
  });
});
