import { once } from 'node:events';
import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import type { MakeLimit } from '../limits.ts';
import { buildConfiguration, type Configuration } from './configuration.ts';
import type { ConfigurationData } from './configuration-data.ts';
import { ConfigurationError, type Problem } from './configuration-error.ts';
import { readConfiguration, type ConfigurationFile } from './read-configuration.ts';

/**
 * Files that are shorter together, in characters, are read within milliseconds; others are read in a separate thread.
 */
const SHORT = 16_384;

/** Bounds on reading the others, because a file whose aliases repeat each other uses all that it may. */
const MAX_BYTES: number = 64 * 1024 * 1024;
const MAX_MS = 60_000;
const MAX_HEAP_MB = 2_048;

/** What the thread sends back. */
export type ReadResult = { readonly data: ConfigurationData } | { readonly problems: readonly Problem[] };

export interface LoadOptions {
  /** Creates the limit of each rule, once. */
  readonly makeLimit: MakeLimit;
}

/**
 * Loads the configuration of a file, or of the files `*.yaml` and `*.yml` of a folder, in the order of their names.
 * Hidden files and inner folders are left out. However large or bad they are, this thread continues with other work.
 *
 * @throws (rejects) ConfigurationError, or an error that says what cannot be read.
 */
export async function loadConfiguration(path: string, { makeLimit }: LoadOptions): Promise<Configuration> {
  const files = await readFiles(path);
  const length = files.reduce((sum, { text }) => sum + text.length, 0);
  const data = length < SHORT ? readConfiguration(files) : await readInThread(files);
  return buildConfiguration(data, makeLimit);
}

/**
 * A stamp that changes with the contents of a file or folder, without reading them: targets of links, sizes and times,
 * or the error if they cannot be read.
 */
export async function readStamp(path: string): Promise<string> {
  try {
    const found = await findFiles(path);
    return found.map(({ path: one, dev, ino, size, mtimeNs }) => [one, dev, ino, size, mtimeNs].join()).join('\n');
  } catch (error) {
    return (error as Error).message;
  }
}

async function readFiles(path: string): Promise<readonly ConfigurationFile[]> {
  try {
    const found = await findFiles(path);
    if (found.length === 0) throw new Error('the folder has no file *.yaml or *.yml');
    const bytes = found.reduce((sum, { size }) => sum + Number(size), 0);
    if (bytes > MAX_BYTES) throw new Error(`it has ${String(bytes)} bytes, more than the ${String(MAX_BYTES)} allowed`);
    const decoder = new TextDecoder('utf-8', { fatal: true });
    return await Promise.all(
      found.map(async (one) => ({ path: one.path, text: decoder.decode(await readFile(one.path)) })),
    );
  } catch (error) {
    throw new Error(`cannot read the configuration ${path}: ${(error as Error).message}`, { cause: error });
  }
}

async function findFiles(
  path: string,
): Promise<readonly { path: string; dev: bigint; ino: bigint; size: bigint; mtimeNs: bigint; isFile(): boolean }[]> {
  const found = await stat(path, { bigint: true });
  if (found.isFile()) return [Object.assign(found, { path })];
  if (!found.isDirectory()) throw new Error('it is neither a file nor a folder');
  const names = (await readdir(path)).filter((name) => !name.startsWith('.') && /\.ya?ml$/.test(name)).toSorted();
  const inside = await Promise.all(
    names.map(async (name) =>
      Object.assign(await stat(join(path, name), { bigint: true }), { path: join(path, name) }),
    ),
  );
  return inside.filter((one) => one.isFile());
}

async function readInThread(files: readonly ConfigurationFile[]): Promise<ConfigurationData> {
  const thread = new Worker(new URL(`read-thread${import.meta.url.slice(-3)}`, import.meta.url), {
    workerData: files,
    resourceLimits: { maxOldGenerationSizeMb: MAX_HEAP_MB },
  });
  thread.unref(); // a service that ends does not wait for it
  try {
    const [result] = (await once(thread, 'message', { signal: AbortSignal.timeout(MAX_MS) })) as [ReadResult];
    if ('data' in result) return result.data;
    throw new ConfigurationError(result.problems);
  } catch (error) {
    if (error instanceof ConfigurationError) throw error;
    throw new Error(`reading the configuration was abandoned: ${(error as Error).message}`, { cause: error });
  } finally {
    await thread.terminate();
  }
}
