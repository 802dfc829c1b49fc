import { spawn, type ChildProcess, type StdioOptions } from 'node:child_process';
import { once } from 'node:events';
import { connect } from 'node:net';
import { delimiter } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

const KILLED_AFTER_MS = 5000;
/** nginx is there on Debian, which is often not in PATH. */
const PATH = [process.env['PATH'], '/usr/sbin', '/usr/local/sbin'].join(delimiter);

type Env = Readonly<Record<string, string>>;

/** A role of this example, in a process of its own. */
export interface RoleProcess {
  readonly name: string;
  readonly url: string;
  readonly pid: number;
}

/** Processes that end together. */
export class Processes {
  readonly #running = new Map<string, ChildProcess>();
  #isStopping = false;

  /**
   * Starts a role and waits until it reports its address.
   *
   * @param file - In the folder of this file.
   */
  async startRole(name: string, file: string, env: Env): Promise<RoleProcess> {
    const path = fileURLToPath(new URL(file, import.meta.url));
    const stdio: StdioOptions = ['ignore', 'pipe', 'pipe', 'ipc'];
    const child = this.#spawn(name, process.execPath, [path], stdio, { ...env, PORT: '0' });
    return new Promise((resolve, reject) => {
      child.once('message', ({ url }: { url: string }) => {
        resolve({ name, url, pid: child.pid ?? NaN });
      });
      child.once('exit', () => {
        reject(new Error(`${name} has ended before it listened`));
      });
    });
  }

  /** Starts a program, such as nginx, and waits until it accepts connections. */
  async startProgram(name: string, args: readonly string[], port: number): Promise<void> {
    if (await accepts(port)) throw new Error(`port ${String(port)} of 127.0.0.1 is in use`);
    const child = this.#spawn(name, name, args, ['ignore', 'ignore', 'pipe'], { PATH });
    const failed = once(child, 'exit').then(() => {
      throw new Error(`${name} has ended`);
    });
    const listens = async (): Promise<void> => {
      while (!(await accepts(port))) await sleep(20);
    };
    await Promise.race([failed, listens()]);
    failed.catch((error: unknown) => {
      if (!this.#isStopping) console.error(String(error));
    });
  }

  /** Ends them all, those started last first. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    for (const child of [...this.#running.values()].reverse()) {
      if (hasEnded(child)) continue;
      const timer = setTimeout(() => child.kill('SIGKILL'), KILLED_AFTER_MS);
      child.kill('SIGTERM');
      await once(child, 'exit');
      clearTimeout(timer);
    }
  }

  #spawn(name: string, file: string, args: readonly string[], stdio: StdioOptions, env: Env): ChildProcess {
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
