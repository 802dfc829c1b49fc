import { spawn, type ChildProcess, type StdioOptions } from 'node:child_process';
import { once } from 'node:events';
import { connect } from 'node:net';
import { basename } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

const RESTARTED_AFTER_MS = 500;
const KILLED_AFTER_MS = 5000;
const CONNECTED_WITHIN_MS = 15_000;

// A program does not notice the end of this process. A shell beside it ends it when this end of a pipe closes.
const SHELL = 'exec 3<&0; (cat <&3; kill -TERM $$) > /dev/null 2>&1 & exec "$@" 3<&- < /dev/null';

type Env = Readonly<Record<string, string>>;

/** A role of this example, in a process of its own. */
export interface RoleProcess {
  readonly name: string;
  readonly url: string;
  /** Changes with a restart. */
  readonly pid: number;
}

/** Processes that end together, and with this one at the latest, however it ends. */
export class Processes {
  readonly #running = new Map<string, ChildProcess>();
  #stopping = false;

  /**
   * Starts a role and waits until it reports its address. A role that ends unexpectedly is started again, on the same
   * port.
   *
   * @param file - In the folder of this file.
   */
  async startRole(name: string, file: string, env: Env): Promise<RoleProcess> {
    const url = await this.#start(name, file, env);
    void this.#keep(name, async () => this.#start(name, file, { ...env, PORT: new URL(url).port }));
    const running = this.#running;
    return {
      name,
      url,
      get pid() {
        return running.get(name)?.pid ?? NaN;
      },
    };
  }

  /**
   * Starts a program and waits until it accepts connections.
   *
   * @param onEnd - Called when it ends unexpectedly later.
   */
  async startProgram(command: readonly [string, ...string[]], port: number, onEnd: () => void): Promise<void> {
    if (await accepts(port)) throw new Error(`port ${String(port)} of 127.0.0.1 is in use`);
    const name = basename(command[0]);
    const child = this.#spawn(name, ['/bin/sh', '-c', SHELL, 'sh', ...command], ['pipe', 'ignore', 'pipe']);
    const startedAt = performance.now();
    while (!(await accepts(port))) {
      if (hasEnded(child)) throw new Error(`${name} did not start`);
      if (performance.now() - startedAt > CONNECTED_WITHIN_MS) throw new Error(`${name} accepts no connections`);
      await sleep(20);
    }
    child.once('exit', () => {
      child.stdin?.destroy();
      killGroup(child);
      if (!this.#stopping) onEnd();
    });
  }

  /** Ends them all, those started last first. */
  async stop(): Promise<void> {
    this.#stopping = true;
    for (const child of [...this.#running.values()].reverse()) {
      if (hasEnded(child)) continue;
      const ended = once(child, 'exit');
      child.kill('SIGTERM');
      const timer = setTimeout(() => child.kill('SIGKILL'), KILLED_AFTER_MS);
      await ended;
      clearTimeout(timer);
    }
  }

  async #start(name: string, file: string, env: Env): Promise<string> {
    const path = fileURLToPath(new URL(file, import.meta.url));
    const child = this.#spawn(name, [process.execPath, path], ['ignore', 'pipe', 'pipe', 'ipc'], env);
    return new Promise((resolve, reject) => {
      child.once('message', ({ url }: { url: string }) => {
        resolve(url);
      });
      child.once('exit', () => {
        reject(new Error(`${name} has ended before it listened`));
      });
    });
  }

  async #keep(name: string, start: () => Promise<unknown>): Promise<void> {
    for (;;) {
      const child = this.#running.get(name) as ChildProcess;
      if (!hasEnded(child)) await once(child, 'exit');
      if (!this.#stopping) console.log(`${name} has ended.`);
      await sleep(RESTARTED_AFTER_MS);
      if (this.#stopping) return;
      try {
        await start();
        console.log(`${name} has been started again, pid ${String(this.#running.get(name)?.pid)}.`);
      } catch (error) {
        console.error(String(error));
      }
    }
  }

  #spawn(
    name: string,
    [file, ...args]: readonly [string, ...string[]],
    stdio: StdioOptions,
    env: Env = {},
  ): ChildProcess {
    // In a session of its own: Ctrl-C reaches this process alone, which then ends the others in order.
    const child = spawn(file, args, { env: { ...process.env, ...env }, stdio, detached: true });
    const passOn = (to: NodeJS.WriteStream) => (text: Buffer) =>
      to.write(text.toString().replace(/^(?=.)/gm, `${name}: `));
    child.stdout?.on('data', passOn(process.stdout));
    child.stderr?.on('data', passOn(process.stderr));
    this.#running.set(name, child);
    return child;
  }
}

/** The processes that it has started and left behind. */
function killGroup({ pid }: ChildProcess): void {
  try {
    if (pid !== undefined) process.kill(-pid, 'SIGKILL');
  } catch {
    // It has ended.
  }
}

function hasEnded(child: ChildProcess): boolean {
  return child.exitCode !== null || child.signalCode !== null;
}

/** Whether something listens on a port of the loopback. */
export async function accepts(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1');
  try {
    await once(socket, 'connect');
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}
