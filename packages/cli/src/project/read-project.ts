import { readFile, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { loadParser } from './parser.ts';
import type { SourceFile } from './source-file.ts';

/** A folder of sources, as it is. */
export interface Project {
  readonly folder: string;
  readonly files: readonly SourceFile[];
  /** The text of `package.json`, where there is one. */
  readonly manifest: string | undefined;
  /** Files that could not be parsed, and why. */
  readonly unread: readonly { readonly path: string; readonly why: string }[];
}

const SOURCE = /\.[cm]?[jt]sx?$/;
/** What is installed or built, and no source. */
const SKIPPED = new Set(['node_modules', 'dist', 'build', 'coverage', 'out']);

/**
 * Reads the JavaScript and TypeScript of a folder, without what is installed, built or hidden, or only declares types.
 *
 * @param isNeeded - Whether a text is parsed. One that is not may be in another language, such as Flow.
 */
export async function readProject(folder: string, isNeeded: (text: string) => boolean = () => true): Promise<Project> {
  const parser = await loadParser();
  const files: SourceFile[] = [];
  const unread: { path: string; why: string }[] = [];
  for (const path of await filesIn(folder, isSource)) {
    try {
      const text = await readFile(join(folder, path), 'utf8');
      if (isNeeded(text)) files.push(await parser.parse(path, text));
    } catch (error) {
      unread.push({ path, why: (error as Error).message });
    }
  }
  parser.close();
  const manifest = await readFile(join(folder, 'package.json'), 'utf8').catch(() => undefined);
  return { folder, files, manifest, unread };
}

/** The paths below a folder whose last part is wanted, in the order of their names. */
export async function filesIn(
  folder: string,
  isWanted: (name: string) => boolean,
  below = '',
): Promise<readonly string[]> {
  const paths: string[] = [];
  for (const entry of (await readdir(join(folder, below), { withFileTypes: true })).toSorted(byName)) {
    const path = below === '' ? entry.name : `${below}/${entry.name}`;
    if (entry.isDirectory() && !SKIPPED.has(entry.name) && !entry.name.startsWith('.')) {
      paths.push(...(await filesIn(folder, isWanted, path)));
    } else if (entry.isFile() && isWanted(entry.name)) paths.push(path);
  }
  return paths;
}

function isSource(name: string): boolean {
  return SOURCE.test(name) && !name.includes('.d.');
}

function byName(first: { readonly name: string }, second: { readonly name: string }): number {
  return first.name < second.name ? -1 : 1;
}
