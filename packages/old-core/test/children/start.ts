import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

/** A policy as text: by the name of the function that makes it, and its options. */
export interface PolicyText {
  readonly make: 'fixedWindow' | 'slidingWindow' | 'tokenBucket';
  readonly options: Readonly<Record<string, unknown>>;
}

export interface ChildReport {
  readonly allowed: number;
  readonly atMs: number;
  /** The time by the process's own clock. */
  readonly clockMs: number;
}

export interface ChildOptions {
  /** The error of its clock, in the format of faketime: `+1h`. */
  readonly clock?: string | undefined;
  /** How many calls it makes at a time. Default: all. */
  readonly atOnce?: number;
}

export interface Child {
  /** Lets it begin, and waits for its result. */
  run(): Promise<ChildReport>;
}

const BUILT = fileURLToPath(new URL('../../dist/index.js', import.meta.url));
const SCRIPT = fileURLToPath(new URL('consume.mjs', import.meta.url));

/** Starts a process that consumes, and waits until it is ready. */
export async function startChild(
  url: string,
  policies: readonly PolicyText[],
  calls: number,
  { clock, atOnce = calls }: ChildOptions = {},
): Promise<Child> {
  if (!existsSync(BUILT))
    throw new Error('packages/old-core/dist is missing: run `npm run build` first (npm test does)');
  const node = [process.execPath, SCRIPT, url, JSON.stringify(policies), String(calls), String(atOnce)];
  const [command = '', ...args] = clock === undefined ? node : [faketime(), '-f', clock, ...node];
  const child = spawn(command, args, {
    stdio: ['pipe', 'pipe', 'pipe'],
    env: { ...process.env, FAKETIME_DONT_FAKE_MONOTONIC: '1' },
  });
  let errors = '';
  child.stderr.on('data', (text: Buffer) => (errors += text.toString()));
  const lines: AsyncIterator<string, undefined> = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const nextLine = async (): Promise<string> => {
    const { value, done } = await lines.next();
    if (done === true) throw new Error(`a child process ended early:\n${errors}`);
    return value;
  };
  if ((await nextLine()) !== 'ready') throw new Error('a child process was not ready');
  return {
    async run() {
      const gone = once(child, 'exit');
      child.stdin.write('go\n');
      const report = JSON.parse(await nextLine()) as ChildReport;
      await gone;
      return report;
    },
  };
}

function faketime(): string {
  const found = (process.env['PATH'] ?? '')
    .split(delimiter)
    .map((folder) => join(folder, 'faketime'))
    .find((path) => existsSync(path));
  if (found === undefined) {
    throw new Error(
      'This test needs the command faketime, to start processes with wrong clocks. Install it: apt-get install faketime',
    );
  }
  return found;
}
