import { dialectOf, VERSION } from '../../src/sql/dialects.ts';
import type { SqlQuery } from '@sluice/managed';

interface Row {
  readonly record: string;
  readonly isOverride: number;
  readonly version: number;
}

/** A database that knows only the statements of a source, and answers them as the real ones do: the row `sql` of the matrix compares. */
export interface SqlStub {
  readonly query: SqlQuery;
  /** A database is away: queries reject, or never settle. */
  how: 'there' | 'rejects' | 'hangs';
  /** What was sent, by its first word; and how many rows came back. */
  readonly sent: { readonly what: string; readonly rows: number }[];
  /** Puts a dump in place of what is there. */
  restore(dump: SqlDump): void;
  dump(): SqlDump;
}

export interface SqlDump {
  readonly rows: ReadonlyMap<string, Row>;
  readonly counter: number;
}

/** @param version - What `select version()` answers. */
export function sqlStub(version = 'PostgreSQL 15.14'): SqlStub {
  const dialect = dialectOf(version, 'sluice_policies');
  const isMysql = dialect.put.startsWith('call');
  let [rows, counter] = [new Map<string, Row>(), 0];
  const bytes = (text: string): unknown => (isMysql ? Buffer.from(text) : text);
  const number = (value: number): unknown => (isMysql ? value : String(value));
  const answers: Record<string, (values: readonly (string | number)[]) => readonly unknown[]> = {
    [VERSION]: () => [{ version }],
    [dialect.changes]: ([after, isOverride, most]) => {
      const head = { counter: number(counter), now_ms: number(Date.now()) };
      const found = [...rows]
        .filter(([, row]) => row.version > Number(after) && row.isOverride === isOverride)
        .sort(([, one], [, other]) => one.version - other.version)
        .slice(0, Number(most))
        .map(([name, { record, version: own }]) => ({
          ...head,
          name: bytes(name),
          record,
          version: number(own),
        }));
      return found.length > 0 ? found : [{ ...head, name: null, record: null, version: null }];
    },
    [dialect.read]: ([name]) => {
      const row = rows.get(String(name));
      return row === undefined ? [] : [{ record: row.record, version: number(row.version) }];
    },
    [dialect.put]: ([name, record, isOverride, before]) => {
      counter++;
      const present = rows.get(String(name));
      const isWritten = present === undefined || present.version === Number(before);
      if (isWritten) {
        rows.set(String(name), { record: String(record), isOverride: Number(isOverride), version: counter });
      }
      if (isMysql) return [[{ written: isWritten ? 1 : 0 }], { affectedRows: 0 }];
      return isWritten ? [{ version: number(counter), pg_notify: '' }] : [];
    },
  };
  const stub: SqlStub = {
    how: 'there',
    sent: [],
    async query(text, values) {
      if (stub.how === 'hangs') await new Promise(() => undefined);
      if (stub.how === 'rejects') throw new Error('the database is starting up');
      const answer = answers[text];
      if (answer === undefined) throw new Error(`syntax error at ${text}`);
      const found = answer(values);
      stub.sent.push({ what: text.split(' ', 1).join(''), rows: found.length });
      return found;
    },
    restore: (dump) => {
      [rows, counter] = [new Map(dump.rows), dump.counter];
    },
    dump: () => ({ rows: new Map(rows), counter }),
  };
  return stub;
}
