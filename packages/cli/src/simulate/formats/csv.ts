import { namesAmong, present, type LogFormat, type Names, type Row } from './entry.ts';

const SEPARATORS = [',', ';', '\t'];

/**
 * Lines of values as in RFC 4180, separated by commas, semicolons or tabs. The first line has the names, unless they
 * are given.
 */
export class Csv implements LogFormat {
  readonly name = 'csv';
  names: Names = namesAmong([]);
  /** Names that replace the usual ones. */
  readonly #own: Partial<Names>;
  #columns: ReadonlyMap<string, number> | undefined;
  #separator: string | undefined;

  constructor(own: Partial<Names> = {}, columns?: readonly string[]) {
    this.#own = own;
    if (columns !== undefined) this.#take(columns);
  }

  read(line: string): Row | undefined | null {
    this.#separator ??= SEPARATORS.reduce((one, other) =>
      line.split(other).length > line.split(one).length ? other : one,
    );
    const values = split(line, this.#separator);
    const columns = this.#columns;
    if (columns === undefined) {
      this.#take(values);
      if (this.names.time.length > 0) return null;
      this.#columns = this.#separator = undefined;
      return undefined;
    }
    if (values.length !== columns.size) return undefined;
    return { get: (name) => present(values[columns.get(name) ?? -1] ?? '') };
  }

  #take(columns: readonly string[]): void {
    this.#columns = new Map(columns.map((name, i) => [name, i]));
    this.names = { ...namesAmong(columns), ...this.#own };
  }
}

function split(line: string, separator: string): readonly string[] {
  if (!line.includes('"')) return line.split(separator);
  const values: string[] = [];
  for (let at = 0; at <= line.length; at++) {
    let end = at;
    if (line[at] === '"') {
      do end = line.indexOf('"', end + 1) + 1;
      while (end > 0 && line[end] === '"');
      if (end === 0 || (end < line.length && line[end] !== separator)) return []; // of no format
      values.push(line.slice(at + 1, end - 1).replaceAll('""', '"'));
    } else {
      end = line.indexOf(separator, at);
      if (end === -1) end = line.length;
      values.push(line.slice(at, end));
    }
    at = end;
  }
  return values;
}
