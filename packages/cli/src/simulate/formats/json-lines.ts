import { present, USUAL, type LogFormat, type Names, type Row } from './entry.ts';

/** Lines that each hold a JSON object. */
export class JsonLines implements LogFormat {
  readonly name = 'json';
  readonly names: Names;

  constructor(names: Names = USUAL) {
    this.names = names;
  }

  read(line: string): Row | undefined {
    let record: unknown;
    try {
      record = JSON.parse(line);
    } catch {
      return undefined; // counted as a line that is no request
    }
    if (typeof record !== 'object' || record === null) return undefined;
    const fields = record;
    return { get: (name) => toText(at(fields, name)) };
  }
}

/**
 * A value by its name, or by a path of names. A list is read as its first item, because header fields are written as
 * lists.
 */
function at(record: object, path: string): unknown {
  const direct = (record as Record<string, unknown>)[path];
  if (direct !== undefined || !path.includes('.')) return first(direct);
  let value: unknown = record;
  for (const name of path.split('.')) {
    if (typeof value !== 'object' || value === null) return undefined;
    value = (value as Record<string, unknown>)[name];
  }
  return first(value);
}

function first(value: unknown): unknown {
  return Array.isArray(value) ? value[0] : value;
}

function toText(value: unknown): string | undefined {
  if (typeof value === 'string') return present(value);
  return typeof value === 'number' || typeof value === 'boolean' ? String(value) : undefined;
}
