import {
  accessSync,
  constants,
  existsSync,
  lstatSync,
  readlinkSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname, resolve } from 'node:path';
import { UsageError } from './terminal/failure.ts';

/** A file that the command line names, by its flag or as `one of the logs`. */
export type NamedFile = readonly [name: string, path: string];

/**
 * Checks that the output files can be written, before the log is read: a log may take an hour.
 *
 * @param inputs - Files none of which is written over.
 * @throws UsageError that names the flag.
 */
export function checkOutputs(outputs: readonly NamedFile[], inputs: readonly NamedFile[]): void {
  for (const [i, [flag, path]] of outputs.entries()) {
    const other = [...inputs, ...outputs.slice(0, i)].find(([, one]) => isSameFile(one, path));
    if (other !== undefined)
      throw new UsageError(`${flag} ${path} is ${other[0]}, which it would replace; write the name of another file`);
    try {
      checkNoLink(path);
      if (existsSync(path) && statSync(path).isDirectory()) throw new Error('it is a folder; name a file in it');
      accessSync(existsSync(path) ? path : dirname(path), constants.W_OK);
    } catch (error) {
      throw cannotWrite(flag, path, error);
    }
  }
}

/**
 * Writes a file as a whole: where that fails, or is interrupted, what was there stays.
 *
 * @throws UsageError that names the flag.
 */
export function writeWhole(flag: string, path: string, text: string): void {
  try {
    checkNoLink(path);
    if (existsSync(path) && !statSync(path).isFile()) writeFileSync(path, text);
    else replace(path, text);
  } catch (error) {
    throw cannotWrite(flag, path, error);
  }
}

/**
 * Another user who may write to the folder can have put a link there, to a file of this one. A link to a device or a
 * pipe, as `/dev/stdout` is, overwrites nothing.
 */
function checkNoLink(path: string): void {
  const isLink = lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() === true;
  if (!isLink || statSync(path, { throwIfNoEntry: false })?.isFile() === false) return;
  throw new Error(`it is a symbolic link to ${readlinkSync(path)}; name that file`);
}

export function cannotWrite(flag: string, path: string, error: unknown): UsageError {
  return new UsageError(`cannot write ${flag} ${path}: ${(error as Error).message}`, { cause: error });
}

function replace(path: string, text: string): void {
  const part = `${path}.${String(process.pid)}.part`;
  try {
    // With the rights of the file that it replaces.
    writeFileSync(part, text, { flag: 'wx', ...(existsSync(path) ? { mode: statSync(path).mode } : {}) });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') rmSync(part, { force: true });
    // The file may be writable in a folder that is not.
    if (!['EACCES', 'EPERM', 'EROFS'].includes((error as NodeJS.ErrnoException).code ?? '')) throw error;
    writeFileSync(path, text);
    return;
  }
  renameSync(part, path);
}

function isSameFile(one: string, other: string): boolean {
  if (one === '-') return false;
  if (!existsSync(one) || !existsSync(other)) return resolve(one) === resolve(other);
  const [first, second] = [statSync(one), statSync(other)];
  return first.isFile() && first.dev === second.dev && first.ino === second.ino;
}
