import { watch, type FSWatcher } from 'node:fs';
import { lstat, readlink, stat } from 'node:fs/promises';
import { dirname, isAbsolute, join, parse, resolve, sep } from 'node:path';
import { filePaths } from './configuration-files.ts';

/** As Linux follows at most. */
const MOST_LINKS = 40;

/**
 * Watches every folder in which a change can give a path, or a file of it, another content: those of the files, and
 * those of each symbolic link on the way. Files themselves are not watched, because a rename replaces them.
 */
export class FolderWatch {
  readonly #path: string;
  readonly #onChange: () => void;
  readonly #onError: (error: Error) => void;
  /** By device and inode, because another folder may take the path of one. */
  #watchers = new Map<string, FSWatcher>();
  #isClosed = false;

  constructor(path: string, onChange: () => void, onError: (error: Error) => void) {
    this.#path = path;
    this.#onChange = onChange;
    this.#onError = onError;
  }

  /** Finds the folders again. Later changes are reported. */
  async refresh(): Promise<void> {
    const folders = await foldersOf(this.#path);
    if (this.#isClosed) return;
    const before = this.#watchers;
    this.#watchers = new Map();
    for (const [id, folder] of folders) {
      const watcher = before.get(id) ?? this.#watch(id, folder);
      before.delete(id);
      if (watcher !== undefined) this.#watchers.set(id, watcher);
    }
    for (const watcher of before.values()) watcher.close();
  }

  close(): void {
    this.#isClosed = true;
    for (const watcher of this.#watchers.values()) watcher.close();
    this.#watchers.clear();
  }

  #watch(id: string, folder: string): FSWatcher | undefined {
    try {
      const watcher = watch(folder, { persistent: false }, this.#onChange);
      watcher.on('error', () => {
        watcher.close();
        this.#watchers.delete(id);
        this.#onChange();
      });
      return watcher;
    } catch (error) {
      this.#onError(new Error(`cannot watch ${folder}: ${(error as Error).message}`, { cause: error }));
      return undefined;
    }
  }
}

/** The folders to watch, by device and inode. Where a part of the path is missing, the folder that would hold it. */
async function foldersOf(path: string): Promise<ReadonlyMap<string, string>> {
  const folders = new Set<string>();
  await addFolders(resolve(path), folders);
  const files = await filePaths(path).catch(() => []);
  for (const file of files) await addFolders(resolve(file), folders);
  const ids = new Map<string, string>();
  for (const folder of folders) {
    const found = await stat(folder, { bigint: true }).catch(() => undefined);
    if (found !== undefined) ids.set(`${String(found.dev)}:${String(found.ino)}`, folder);
  }
  return ids;
}

/** Follows a path link by link. */
async function addFolders(path: string, folders: Set<string>): Promise<void> {
  let { root: at } = parse(path);
  let rest = path.slice(at.length).split(sep);
  for (let links = 0; rest.length > 0;) {
    const [name = '', ...after] = rest;
    const next = join(at, name);
    const found = await lstat(next).catch(() => undefined);
    const isLink = found?.isSymbolicLink() === true;
    if (found === undefined || isLink || after.length === 0) folders.add(at);
    if (found === undefined) return;
    if (isLink) {
      if (++links > MOST_LINKS) return;
      const target = await readlink(next).catch(() => '.');
      const whole = isAbsolute(target) ? resolve(target) : resolve(dirname(next), target);
      at = parse(whole).root;
      rest = [
        ...whole
          .slice(at.length)
          .split(sep)
          .filter((part) => part !== ''),
        ...after,
      ];
    } else {
      at = next;
      rest = after;
    }
    if (rest.length === 0 && found.isDirectory()) folders.add(at);
  }
}
