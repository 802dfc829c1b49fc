// The service, and projects of Maven.
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { startProgram } from '../../packages/testkit/dist/program.js';
import { open } from '../../packages/testkit/dist/raw-http.js';

export const root = fileURLToPath(new URL('../../', import.meta.url));

/** Builds a project of Maven. */
export function maven(folder, ...goals) {
  const { status, error } = spawnSync('mvn', ['-q', '-B', ...goals], { cwd: folder, stdio: 'inherit' });
  if (error?.code === 'ENOENT') throw new Error('mvn is missing: install a JDK 17 and Maven (Debian: maven)');
  if (status !== 0) throw new Error(`mvn ${goals.join(' ')} failed in ${folder}`);
}

/** Starts `sluice serve`, with the listeners that are given and no others. Resolves when it listens. */
export function serve(config, listeners, ...args) {
  const off = { grpc: 'off', http: 'off', admin: 'off', ...listeners };
  const flags = Object.entries(off).flatMap(([name, address]) => [`--${name}`, String(address)]);
  const sluice = [`${root}packages/cli/dist/main.js`, 'serve', '--config', config, ...flags, ...args];
  return startProgram(process.execPath, sluice, async () => {
    for (const port of Object.values(listeners)) (await open(port)).destroy();
  });
}
