// Programs that a row starts, and ends by their handles: the service, Java, servers of others.
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

export const root = fileURLToPath(new URL('../../', import.meta.url));
const sluice = `${root}packages/cli/dist/main.js`;
/** Java starts slowly beside other work. */
const DEADLINE_MS = 300_000;

/** Waits until a condition holds. Returns its value. */
export async function until(what, condition) {
  const endMs = performance.now() + DEADLINE_MS;
  for (;;) {
    const value = await condition();
    if (value) return value;
    if (performance.now() > endMs) throw new Error(`not within ${DEADLINE_MS} ms: ${what}`);
    await sleep(20);
  }
}

/** Builds a project of Maven. */
export function maven(folder, ...goals) {
  const { status, error } = spawnSync('mvn', ['-q', '-B', ...goals], { cwd: folder, stdio: 'inherit' });
  if (error?.code === 'ENOENT') throw new Error('mvn is missing: install a JDK 17 and Maven (Debian: maven)');
  if (status !== 0) throw new Error(`mvn ${goals.join(' ')} failed in ${folder}`);
}

export class Programs {
  #children = new Set();

  /**
   * Starts a program in a group of its own: some, such as faketime, are the parents of what they start. `line` resolves
   * with the next line of its output.
   */
  start(command, args, env = {}) {
    const options = { stdio: ['pipe', 'pipe', 'inherit'], detached: true, env: { ...process.env, ...env } };
    const child = spawn(command, args, options);
    this.#children.add(child);
    const exited = once(child, 'exit').finally(() => this.#children.delete(child));
    const lines = createInterface(child.stdout)[Symbol.asyncIterator]();
    return {
      child,
      exited,
      async line() {
        const { value, done } = await lines.next();
        if (done) throw new Error(`${command} has ended`);
        return value;
      },
      /** Resolves to the exit code. */
      async end(signal = 'SIGKILL') {
        process.kill(-child.pid, signal);
        const [code] = await exited;
        return code;
      },
    };
  }

  /** Starts `sluice serve`, with the listeners that are given and no others. Resolves when it is ready. */
  async serve(config, listeners, ...args) {
    const off = { grpc: 'off', http: 'off', admin: 'off', ...listeners };
    const flags = Object.entries(off).flatMap(([name, address]) => [`--${name}`, String(address)]);
    const program = this.start(process.execPath, [sluice, 'serve', '--config', config, ...flags, ...args]);
    const line = await program.line();
    if (!line.startsWith('sluice is ready')) throw new Error(`the service does not start: ${line}`);
    return program;
  }

  async close() {
    const children = [...this.#children];
    const exits = children.map((child) => once(child, 'exit'));
    for (const { pid } of children) process.kill(-pid, 'SIGKILL');
    await Promise.all(exits);
  }
}
