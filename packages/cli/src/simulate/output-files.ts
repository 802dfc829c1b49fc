import { accessSync, constants, existsSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { UsageError } from '../failure.ts';

/**
 * Checks that a file can be written, before the log is read: a log may take an hour.
 *
 * @param logs - The paths of the logs, none of which is written over.
 * @throws UsageError that names the flag.
 */
export function checkOutput(flag: string, path: string, logs: readonly string[]): void {
  if (logs.some((log) => isSameFile(log, path)))
    throw new UsageError(`${flag} ${path} is one of the logs, which it would replace; write the name of another file`);
  try {
    if (existsSync(path) && statSync(path).isDirectory()) throw new Error('it is a folder; name a file in it');
    accessSync(existsSync(path) ? path : dirname(path), constants.W_OK);
  } catch (error) {
    throw new UsageError(`cannot write ${flag} ${path}: ${(error as Error).message}`, { cause: error });
  }
}

function isSameFile(log: string, path: string): boolean {
  if (log === '-' || !existsSync(log) || !existsSync(path)) return false;
  const [one, other] = [statSync(log), statSync(path)];
  return one.isFile() && one.dev === other.dev && one.ino === other.ino;
}
