import { spawn, type ChildProcess, type ChildProcessByStdio, type SpawnOptions } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
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
  readonly pid: number;
  /** Ends it, even while it is stopped by SIGSTOP, and resolves when it has ended. Default: SIGKILL. */
  kill(signal?: NodeJS.Signals): Promise<void>;
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
  options: SpawnOptions = {},
): Promise<RunningProgram> {
  const child = spawnTied(path, args, options);
  let isEnded = false;
  const ended = once(child, 'exit').finally(() => (isEnded = true));
  ended.catch(() => undefined); // it does not start: what waits for it says so
  let log = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (text: Buffer) => (log += text.toString()));
  const hasEnded = (): boolean => isEnded;
  const kill = async (signal: NodeJS.Signals = 'SIGKILL'): Promise<void> => {
    child.kill(signal);
    if (!hasEnded()) await ended;
  };
  try {
    await until(`${path} is ready`, async () => hasEnded() || (await isReady()) !== false);
  } catch (error) {
    await kill();
    throw error;
  }
  if (child.pid === undefined || hasEnded()) throw new Error(`${path} has ended:\n${log}`);
  return { pid: child.pid, kill };
}
