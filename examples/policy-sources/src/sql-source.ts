import type { PolicySource } from '@sluice/core/managed';
import type { Pool as MysqlPool, ResultSetHeader, RowDataPacket } from 'mysql2/promise';
import type { Pool as PgPool } from 'pg';
import { parseRecord } from './record.ts';

/**
 * The table of Postgres: a row for each policy and each override. Processes that start together take turns: `if not
 * exists` alone fails if another session creates the table at the same time.
 */
export const POSTGRES_TABLE = `select pg_advisory_xact_lock(hashtext('sluice_policies'));
create table if not exists sluice_policies (name text primary key, record text not null)`;

/** The table of MariaDB and MySQL. Names are bytes: keys that differ only in case, or in spaces at the end, differ. */
export const MARIADB_TABLE = `create table if not exists sluice_policies (
  name varbinary(1200) primary key,
  record longtext character set utf8mb4 collate utf8mb4_bin not null
) engine = InnoDB`;

interface Row {
  readonly name: string | Buffer;
  readonly record: string;
}

/** What a source needs of a database. Writes return how many rows they have written. */
interface Statements {
  readonly readAll: () => Promise<readonly Row[]>;
  /** Writes nothing if there is a row of this name. */
  readonly insert: (name: string, record: string) => Promise<number>;
  /** Writes nothing if the row has another record than `before`. */
  readonly update: (name: string, record: string, before: string) => Promise<number>;
}

/** Managed policies in Postgres: `createPolicies(postgresSource(new pg.Pool()))`. The pool stays yours to close. */
export function postgresSource(pool: PgPool): PolicySource {
  const write = async (statement: string, values: readonly string[]): Promise<number> =>
    (await pool.query(statement, [...values])).rowCount ?? 0;
  return sqlSource({
    readAll: async () => (await pool.query<Row>('select name, record from sluice_policies')).rows,
    insert: (...row) =>
      write('insert into sluice_policies (name, record) values ($1, $2) on conflict (name) do nothing', row),
    update: (name, ...records) =>
      write('update sluice_policies set record = $2 where name = $1 and record = $3', [name, ...records]),
  });
}

/** The same in MariaDB or MySQL: `createPolicies(mariadbSource(mysql.createPool(url)))`, of mysql2/promise. */
export function mariadbSource(pool: MysqlPool): PolicySource {
  const write = async (statement: string, values: readonly string[]): Promise<number> =>
    (await pool.execute<ResultSetHeader>(statement, [...values]))[0].affectedRows;
  return sqlSource({
    readAll: async () => (await pool.execute<(Row & RowDataPacket)[]>('select name, record from sluice_policies'))[0],
    insert: (...row) => write('insert ignore into sluice_policies (name, record) values (?, ?)', row),
    update: (name, record, before) =>
      write('update sluice_policies set record = ? where name = ? and record = ?', [record, name, before]),
  });
}

function sqlSource({ readAll, insert, update }: Statements): PolicySource {
  /** The text of each record that was read: a write compares it, so that it replaces only what was read. */
  const texts = new WeakMap<object, string>();
  return {
    name: 'the table sluice_policies',
    load: async () => {
      const records: Record<string, object> = {};
      for (const row of await readAll()) {
        const record = parseRecord(row.record);
        texts.set(record, row.record);
        records[String(row.name)] = record;
      }
      return records;
    },
    put: async (name, record, before) => {
      const [text, textBefore] = [JSON.stringify(record), texts.get(before as object)];
      return (await (textBefore === undefined ? insert(name, text) : update(name, text, textBefore))) === 1;
    },
  };
}
