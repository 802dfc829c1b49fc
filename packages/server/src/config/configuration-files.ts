import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Configuration } from './configuration.ts';
import { configurationSteps, type ConfigurationFile, type ReadOptions } from './read-configuration.ts';
import { inTurns } from './steps.ts';

/** Files that are being replaced are read again so often, until two reads give the same. */
const MOST_READS = 5;

/**
 * Reads the configuration of a file, or of the files `*.yaml` and `*.yml` of a folder, in the order of their names.
 * Hidden files and inner folders are left out.
 *
 * @throws (rejects) ConfigurationError, or an error that says what cannot be read.
 */
export async function loadConfiguration(path: string, options: ReadOptions): Promise<Configuration> {
  return inTurns(configurationSteps(await readFiles(path), options));
}

/**
 * The files of a configuration, as they were at one time, unless they change all the time.
 *
 * @throws (rejects) an error that says what cannot be read.
 */
export async function readFiles(path: string): Promise<readonly ConfigurationFile[]> {
  let files = await readOnce(path);
  for (let reads = 1; reads < MOST_READS; reads++) {
    const again = await readOnce(path);
    if (fingerprintOf(again) === fingerprintOf(files)) break;
    files = again;
  }
  return files;
}

/** Equal for files that say the same. */
export function fingerprintOf(files: readonly ConfigurationFile[]): string {
  return JSON.stringify(files.map(({ path, text }) => [path, text]));
}

/** The paths of the files of a configuration: the file itself, or those of a folder. */
export async function filePaths(path: string): Promise<readonly string[]> {
  const found = await stat(path);
  if (found.isFile()) return [path];
  if (!found.isDirectory()) throw new Error('it is neither a file nor a folder');
  const names = (await readdir(path)).filter((name) => !name.startsWith('.') && /\.ya?ml$/.test(name)).toSorted();
  const paths = names.map((name) => join(path, name));
  const stats = await Promise.all(paths.map((one) => stat(one)));
  return paths.filter((_one, i) => stats[i]?.isFile() === true);
}

async function readOnce(path: string): Promise<readonly ConfigurationFile[]> {
  try {
    const paths = await filePaths(path);
    if (paths.length === 0) throw new Error('the folder has no file *.yaml or *.yml');
    return await Promise.all(paths.map(async (one) => ({ path: one, text: decoded(await readFile(one)) })));
  } catch (error) {
    throw new Error(`cannot read the configuration ${path}: ${(error as Error).message}`, { cause: error });
  }
}

function decoded(bytes: Uint8Array): string {
  return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
}
