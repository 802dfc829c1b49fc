import { spawn, type ChildProcessWithoutNullStreams } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

/** What a command printed, without the spaces at its end, and its exit code. */
export interface Ran {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

const HOST = fileURLToPath(new URL('host.mjs', import.meta.url));

/** One process for many command lines, which run one after the other. */
export class Host {
  readonly #env: Readonly<Record<string, string>>;
  #child: ChildProcessWithoutNullStreams | undefined;
  #last: Promise<unknown> = Promise.resolve();
  /** Continues the command that waits for output. */
  #wake: () => void = () => undefined;
  #printed = { out: '', err: '' };

  constructor(env: Readonly<Record<string, string>>) {
    this.#env = env;
  }

  async run(args: readonly string[]): Promise<Ran> {
    const ran = this.#last.then(() => this.#runNow(args));
    this.#last = ran.catch(() => undefined);
    return ran;
  }

  /** Resolves when the process has ended by itself: no command has left anything behind. */
  async end(): Promise<void> {
    if (this.#child === undefined) return;
    const closed = once(this.#child, 'close');
    this.#child.stdin.end();
    await closed;
  }

  async #runNow(args: readonly string[]): Promise<Ran> {
    const child = (this.#child ??= this.#start());
    this.#printed = { out: '', err: '' };
    child.stdin.write(`${JSON.stringify(args)}\n`);
    while (!(this.#printed.out.endsWith('\0') && this.#printed.err.endsWith('\0'))) {
      if (child.exitCode !== null || child.signalCode !== null)
        throw new Error(`the process of ${args.join(' ')} has ended: ${this.#printed.err}`);
      await new Promise<void>((resolve) => (this.#wake = resolve));
    }
    const { out, err } = this.#printed;
    return { code: Number(out.at(-2)), out: out.slice(0, -2).trimEnd(), err: err.slice(0, -1).trimEnd() };
  }

  #start(): ChildProcessWithoutNullStreams {
    const child = spawn(process.execPath, [HOST], { env: { PATH: process.env['PATH'] ?? '', ...this.#env } });
    for (const [name, stream] of [
      ['out', child.stdout],
      ['err', child.stderr],
    ] as const) {
      stream.on('data', (text: Buffer) => {
        this.#printed[name] += text.toString();
        this.#wake();
      });
    }
    child.once('close', () => {
      this.#wake();
    });
    return child;
  }
}
