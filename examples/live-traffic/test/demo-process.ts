import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

export const MAIN: string = fileURLToPath(new URL('../dist/main.js', import.meta.url));

const DEADLINE_MS = 60_000;

/** A started demo, or a program that wraps one. */
export class DemoProcess {
  readonly #child;
  readonly #exited: Promise<unknown>;
  stdout = '';
  stderr = '';

  constructor(
    env: Readonly<Record<string, string>>,
    [program, ...args]: readonly [string, ...string[]] = [process.execPath, MAIN],
  ) {
    const inherited = { ...process.env, PORT: '', REDIS_URL: '', DURATION: '', NO_COLOR: '', TERM: 'xterm' };
    this.#child = spawn(program, args, { env: { ...inherited, ...env }, stdio: 'pipe' });
    this.#exited = once(this.#child, 'close');
    this.#child.stdout.on('data', (data: Buffer) => (this.stdout += data.toString()));
    this.#child.stderr.on('data', (data: Buffer) => (this.stderr += data.toString()));
  }

  /** Waits for a text in what it prints. */
  async prints(text: string): Promise<void> {
    while (!this.stdout.includes(text)) {
      if (this.#child.exitCode !== null)
        throw new Error(`ended without printing ${text}:\n${this.stdout}${this.stderr}`);
      await this.#inTime(once(this.#child.stdout, 'data'));
    }
  }

  types(text: string): void {
    this.#child.stdin.write(text);
  }

  signal(signal: NodeJS.Signals): void {
    this.#child.kill(signal);
  }

  /** Its exit code. */
  async ends(): Promise<number | null> {
    await this.#inTime(this.#exited);
    return this.#child.exitCode;
  }

  async #inTime(event: Promise<unknown>): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_resolve, reject) => {
      timer = setTimeout(() => {
        this.#child.kill('SIGKILL');
        reject(new Error(`nothing came in time; so far:\n${this.stdout}${this.stderr}`));
      }, DEADLINE_MS);
    });
    await Promise.race([event, late]).finally(() => {
      clearTimeout(timer);
    });
  }
}

/** The numbers of one row of the final tables: offered and allowed, or sent and answered. */
export interface TableRow {
  readonly offered: number;
  readonly allowed: number;
  readonly denied: number;
}

/** The row that begins with a name. */
export function tableRow(output: string, name: string): TableRow {
  const row = new RegExp(`^${name} .* ([\\d,]+) +([\\d,]+) +([\\d,]+) +\\S+ +\\S+$`, 'm').exec(output);
  if (row === null) throw new Error(`there is no row ${name}:\n${output}`);
  const [offered = NaN, allowed = NaN, denied = NaN] = row.slice(1).map((text) => Number(text.replaceAll(',', '')));
  return { offered, allowed, denied };
}
