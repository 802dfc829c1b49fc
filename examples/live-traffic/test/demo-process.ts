import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

export const MAIN: string = fileURLToPath(new URL('../dist/main.js', import.meta.url));

/**
 * A program that runs it on a terminal: `script` is on every Debian and Ubuntu. exec: a shell in between would handle
 * Ctrl-C itself.
 */
export const ON_TERMINAL: readonly [string, ...string[]] = [
  'script',
  '-qec',
  `stty rows 24 cols 80; exec ${process.execPath} ${MAIN}`,
  '/dev/null',
];

const DEADLINE_MS = 60_000;
/** Less than a window of its logins: the counts of a run are those of one window. */
const LONGEST_RUN_MS = 50_000;

const ESCAPE = '\u001b';
/** What precedes a line that is drawn in place. */
const DRAWN_LINE = new RegExp(`${ESCAPE}\\[\\d+;1H${ESCAPE}\\[2K`, 'g');

const running = new Set<DemoProcess>();

/** Ends what a failed test has left running. */
export function killAll(): void {
  for (const demo of running) demo.signal('SIGKILL');
}

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
    running.add(this);
    this.#exited = once(this.#child, 'close').finally(() => running.delete(this));
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

  /**
   * Waits until this holds for the summary that it draws on a terminal.
   *
   * @param holds - Gets all that was drawn so far, a line each: the last one of several is the one that is shown.
   */
  async draws(holds: (drawn: string) => boolean): Promise<void> {
    await this.prints(ESCAPE);
    const endMs = performance.now() + LONGEST_RUN_MS;
    while (!holds(this.stdout.replace(DRAWN_LINE, '\n'))) {
      if (performance.now() > endMs) {
        this.#child.kill('SIGKILL');
        throw new Error(`its clients have not come that far in ${String(LONGEST_RUN_MS)} ms:\n${this.stdout}`);
      }
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

/** The last row that begins with a name. */
export function tableRow(output: string, name: string): TableRow {
  const row = findRow(output, name);
  if (row === undefined) throw new Error(`there is no row ${name}:\n${output}`);
  return row;
}

/** The same; undefined before there is one. */
export function findRow(output: string, name: string): TableRow | undefined {
  const rows = output.matchAll(new RegExp(`^${name} .* ([\\d,]+) +([\\d,]+) +([\\d,]+) +\\S+ +\\S+$`, 'gm'));
  const row = [...rows].at(-1);
  if (row === undefined) return undefined;
  const [offered = NaN, allowed = NaN, denied = NaN] = row.slice(1).map((text) => Number(text.replaceAll(',', '')));
  return { offered, allowed, denied };
}
