import { spawn, type ChildProcess, type ChildProcessByStdio, type SpawnOptions } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import type { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { until } from './until.ts';

/** Where scripts/setup/test-tools.mjs keeps the programs that are not installed. */
const CACHE = fileURLToPath(new URL('../../../node_modules/.cache/sluice/', import.meta.url));

/**
 * The path of a program: the one in the environment variable with its upper-case name, or the one that
 * scripts/setup/test-tools.mjs has found. Undefined if this machine has none.
 *
 * @param others - Other names that it has.
 */
export function findProgram(name: string, ...others: readonly string[]): string | undefined {
  const named = process.env[name.toUpperCase().replaceAll('-', '_')] ?? '';
  if (named !== '') return named;
  const folders = [...(process.env['PATH'] ?? '').split(delimiter), '/usr/sbin', CACHE];
  return [name, ...others].flatMap((each) => folders.map((folder) => join(folder, each))).find(existsSync);
}

/** A started program. It ends with this process at the latest. */
export interface RunningProgram {
  /** Changes with a restart. */
  readonly pid: number;
  /** Ends it, even while it is stopped by SIGSTOP, and resolves when it has ended. */
  readonly kill: (signal?: NodeJS.Signals) => Promise<void>;
  /** Starts it again, with further arguments this time. Kills it first if it still runs. */
  readonly restart: (more?: readonly string[], isReady?: () => unknown) => Promise<void>;
  /** Ends it, and removes its folder. */
  readonly stop: () => Promise<void>;
}

interface ProgramOptions extends SpawnOptions {
  /** Where it keeps its files. */
  readonly folder?: string;
  /** What usually ends it. Default: SIGKILL. */
  readonly endsBy?: NodeJS.Signals;
}

/** A new, empty folder for a program. */
export function newFolder(name: string): string {
  return mkdtempSync(join(tmpdir(), `sluice-${name}-`));
}

const running = new Set<ChildProcess>();
process.once('exit', () => {
  for (const child of running) child.kill('SIGKILL');
});

/** Starts a process that ends with this one at the latest. */
export function spawnTied(
  path: string,
  args: readonly string[],
  options: SpawnOptions = {},
): ChildProcessByStdio<null, Readable, Readable> {
  const child = spawn(path, args, { ...options, stdio: ['ignore', 'pipe', 'pipe'] });
  running.add(child);
  child.once('close', () => running.delete(child));
  return child;
}

/**
 * Starts a program, and waits until it is ready.
 *
 * @param isReady - An error counts as not yet.
 */
export async function startProgram(
  path: string,
  args: readonly string[],
  isReady: () => unknown,
  { folder, endsBy = 'SIGKILL', ...options }: ProgramOptions = {},
): Promise<RunningProgram> {
  let child: ChildProcess | undefined;
  let ended: Promise<unknown> = Promise.resolve();
  const kill = async (signal = endsBy): Promise<void> => {
    child?.kill(signal);
    await ended;
  };
  const stop = async (): Promise<void> => {
    await kill();
    if (folder !== undefined) rmSync(folder, { recursive: true, force: true });
  };
  const restart = async (more: readonly string[] = [], isReadyNow = isReady): Promise<void> => {
    await kill();
    const started = spawnTied(path, [...args, ...more], options);
    let [isEnded, log] = [false, ''];
    const end = (): void => {
      isEnded = true;
    };
    child = started;
    ended = once(started, 'exit').then(end, end); // if it does not start, what waits for it says so
    for (const stream of [started.stdout, started.stderr])
      stream.on('data', (text: Buffer) => (log += text.toString()));
    const hasEnded = (): boolean => isEnded;
    await until(`${path} is ready`, async () => hasEnded() || (await isReadyNow()) !== false);
    if (hasEnded()) throw new Error(`${path} has ended:\n${log}`);
  };
  try {
    await restart();
  } catch (error) {
    await stop();
    throw error;
  }
  return {
    get pid() {
      return child?.pid as number;
    },
    ...{ kill, restart, stop },
  };
}
