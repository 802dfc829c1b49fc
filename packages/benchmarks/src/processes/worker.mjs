import { fork } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { heldTo } from './cores.mjs';

const src = fileURLToPath(new URL('..', import.meta.url));
const running = new Set();
process.once('exit', () => {
  for (const child of running) child.kill('SIGKILL');
});

/** Processes by file and start options, shared in a trial, where figures do not matter. */
let shared;

/** From now on workers of one file share a process: for a trial, whose figures mean nothing. */
export function shareProcesses() {
  shared = new Map();
}

/**
 * Ends those processes.
 *
 * @public Of the test, which loads this module without its types.
 */
export async function endShared() {
  const hosts = [...(shared?.values() ?? [])];
  shared = undefined;
  for (const { child } of hosts) child.kill('SIGKILL');
  await Promise.all(hosts.map(({ gone }) => gone));
}

/** A measuring or measured process. It handles one request after the other, and ends with this process. */
export class Worker {
  #file;
  #child;
  #gone;
  #id;

  /**
   * @param file - A module of ../children, by its name.
   * @param how - `core`; `node`, the path of another Node; `flags` for it.
   */
  constructor(file, { core, node, flags = [] } = {}) {
    const kind = JSON.stringify([file, core, node, flags]);
    const host = shared?.get(kind) ?? start(file, { core, node, flags });
    shared?.set(kind, host);
    this.#file = file;
    this.#child = host.child;
    this.#gone = host.gone;
    this.#id = host.next++;
  }

  /** @throws (rejects) the error of the child. */
  async ask(what, options = {}) {
    const reply = new Promise((resolve) => {
      const listen = (message) => {
        if (message.id !== this.#id) return;
        this.#child.off('message', listen);
        resolve(message);
      };
      this.#child.on('message', listen);
    });
    this.#child.send({ id: this.#id, what, options });
    const { answer, error } = await Promise.race([reply, this.#gone]);
    if (error !== undefined) throw new Error(`${this.#file}: ${error}`);
    return answer;
  }

  async end() {
    if (shared !== undefined) return;
    this.#child.kill('SIGKILL');
    await this.#gone;
  }
}

function start(file, { core, node, flags }) {
  const child = fork(join(src, 'children', file), [], {
    ...heldTo(core, { node, flags: ['--no-warnings', ...flags] }),
    env: { ...process.env, NODE_ENV: 'production' },
  });
  running.add(child);
  const gone = new Promise((resolve) => {
    child.once('exit', (code, signal) => {
      running.delete(child);
      resolve({ error: `ended by itself: ${code ?? signal}` });
    });
  });
  return { child, gone, next: 0 };
}
