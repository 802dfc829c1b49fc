import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { delimiter } from 'node:path';
import type { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';

const MAIN = fileURLToPath(new URL('../dist/main.js', import.meta.url));
// Where scripts/setup/test-tools.mjs keeps the programs that are not installed.
const CACHE = fileURLToPath(new URL('../../../node_modules/.cache/sluice', import.meta.url));

type Env = Readonly<Record<string, string>>;

/** The environment of the test, in which the programs are found. */
export const env: Env = {
  ...(process.env as Env),
  PATH: [process.env['PATH'], CACHE].join(delimiter),
};

/** The example, started by its command. It ends with this process, even when that is killed. */
export class System {
  readonly child: ChildProcess;
  readonly #ended: Promise<unknown>;
  output = '';

  /** @param file - A single role, instead of all. */
  constructor(args: readonly string[], more: Env = {}, file: string = MAIN) {
    this.child = spawn(process.execPath, [file, ...args], {
      env: { ...env, ...more },
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    });
    this.#ended = once(this.child, 'close');
    const read = (text: Buffer): void => void (this.output += text.toString());
    this.child.stdout?.on('data', read);
    this.child.stderr?.on('data', read);
  }

  /** Starts everything, on ports that are free, and waits until it listens. */
  static async start(...args: readonly string[]): Promise<System> {
    const system = new System(['--port', '0', ...args]);
    try {
      await system.prints('Ctrl-C');
      return system;
    } catch (error) {
      await system.stop();
      throw error;
    }
  }

  /** Waits for a text in what it prints. */
  async prints(text: string): Promise<void> {
    while (!this.output.includes(text)) {
      if (this.#hasEnded) throw new Error(`ended without printing ${text}, but:\n${this.output}`);
      await Promise.race([once(this.child.stdout as Readable, 'data'), this.#ended]);
    }
  }

  get #hasEnded(): boolean {
    return this.child.exitCode !== null || this.child.signalCode !== null;
  }

  /** Where nginx listens. */
  get port(): number {
    return Number(new URL(this.#found(/^Listening on (\S+):/m)).port);
  }

  /** Where a gateway or a service listens. */
  urlOf(name: string): string {
    return this.#found(new RegExp(`^ +${name} +(\\S+) `, 'm'));
  }

  /** The process of a gateway or a service; the last one, if it was started again. */
  pidOf(name: string): number {
    const pids = [...this.output.matchAll(new RegExp(`${name} .*pid (\\d+)`, 'g'))].map(([, pid]) => Number(pid));
    return pids.at(-1) ?? NaN;
  }

  /** The configuration of nginx, in the folder that it runs in. */
  get nginxConf(): string {
    return this.#found(/nginx, with (\S+)/);
  }

  /** The number of requests that a service has received. */
  async served(service: string): Promise<number> {
    const answer = await fetch(`${this.urlOf(service)}/served`);
    return ((await answer.json()) as { served: number }).served;
  }

  /** How it ended. */
  async ends(): Promise<number | NodeJS.Signals | null> {
    await this.#ended;
    return this.child.exitCode ?? this.child.signalCode;
  }

  async stop(): Promise<void> {
    this.child.kill('SIGTERM');
    await this.#ended;
  }

  #found(pattern: RegExp): string {
    const [, found] = pattern.exec(this.output) ?? [];
    if (found === undefined) throw new Error(`nothing like ${String(pattern)} in\n${this.output}`);
    return found;
  }
}
