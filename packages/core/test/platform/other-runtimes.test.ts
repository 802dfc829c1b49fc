import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, it } from '@jest/globals';

const core = fileURLToPath(new URL('../../', import.meta.url));
const program = `for (const path of ['', '/inspect', '/kernels', '/spi']) await import('@sluice/core' + path);
console.log(process.moduleLoadList.filter((name) => name.includes('cluster')).join());`;

/** The modules of node:cluster that core, as it is built, loads where this condition of its `imports` holds. */
async function clusterModules(condition: string): Promise<string> {
  const args = [`--conditions=${condition}`, '--input-type=module', '-e', program];
  const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: core });
  return stdout.trim();
}

describe('core', () => {
  it.each(['bun', 'deno'])('loads no node:cluster under the condition %s', async (condition) => {
    expect(await clusterModules(condition)).toBe('');
  });

  it('loads node:cluster on Node.js, where warnings are about its workers', async () => {
    expect(await clusterModules('node')).toContain('NativeModule cluster');
  });
});
