import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));

/**
 * Runs every command at the root, one after the other, also after one has failed.
 *
 * @param rows - Each `[name, command, its further arguments]`.
 * @returns The names of those that failed.
 */
export function runRows(rows) {
  return rows.flatMap(([name, command, given = []]) => {
    console.log(`\n=== ${name}`);
    const began = performance.now();
    const { status } = spawnSync('sh', ['-c', `${command} "$@"`, 'sh', ...given], { cwd: root, stdio: 'inherit' });
    const seconds = Math.round((performance.now() - began) / 1000);
    console.log(`--- ${name}: ${status === 0 ? 'passed' : 'FAILED'}, ${seconds} s`);
    return status === 0 ? [] : [name];
  });
}
