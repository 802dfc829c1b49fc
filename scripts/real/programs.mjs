// What a row starts: it ends with the row, the last one first.
import { spawnSync } from 'node:child_process';
import { after } from 'node:test';
import { fileURLToPath } from 'node:url';
import { startProgram } from '../../packages/testkit/dist/program.js';
import { listen, open } from '../../packages/testkit/dist/raw-http.js';
import { startRedis } from '../../packages/testkit/dist/redis-server.js';

export const root = fileURLToPath(new URL('../../', import.meta.url));
const ends = [];
export const atEnd = (end) => ends.push(end);
after(async () => {
  for (const end of ends.reverse()) await end();
});

export async function redisServer() {
  const server = await startRedis();
  atEnd(() => server.stop());
  return server;
}

/** @param isReady - As `startProgram` has it. */
export async function start(path, args, isReady, options) {
  const started = await startProgram(path, args, isReady, options);
  atEnd(() => started.kill());
  return started;
}

/** A server of HTTP. Resolves to its port. */
export async function listening(handler) {
  const { port, close } = await listen(handler);
  atEnd(close);
  return port;
}

/** Starts `sluice serve`, with the listeners that are given and no others. Resolves when it listens. */
export function serve(config, listeners, ...args) {
  const off = { grpc: 'off', http: 'off', admin: 'off', ...listeners };
  const flags = Object.entries(off).flatMap(([name, address]) => [`--${name}`, String(address)]);
  const sluice = [`${root}packages/cli/dist/main.js`, 'serve', '--config', config, ...flags, ...args];
  return start(process.execPath, sluice, async () => {
    for (const port of Object.values(listeners)) (await open(port)).destroy();
  });
}

/** Builds a project of Maven. */
export function maven(folder, ...goals) {
  const { status, error } = spawnSync('mvn', ['-q', '-B', ...goals], { cwd: folder, stdio: 'inherit' });
  if (error?.code === 'ENOENT') throw new Error('mvn is missing: install a JDK 17 and Maven (Debian: maven)');
  if (status !== 0) throw new Error(`mvn ${goals.join(' ')} failed in ${folder}`);
}
