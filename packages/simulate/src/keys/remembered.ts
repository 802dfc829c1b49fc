import { ownText } from '@sluice/core/spi';

const MOST = 50_000;
/** Longer paths are not remembered. */
const LONGEST = 256;

/** Remembers the results of recent paths: a log has many lines with the same ones. */
export class Remembered<T> {
  readonly #find: (path: string) => T;
  readonly #found = new Map<string, T>();

  constructor(find: (path: string) => T) {
    this.#find = find;
  }

  of(path: string): T {
    const known = this.#found.get(path);
    if (known !== undefined) return known;
    const found = this.#find(path);
    if (path.length > LONGEST) return found;
    if (this.#found.size >= MOST) this.#found.clear();
    this.#found.set(ownText(path), found);
    return found;
  }
}
