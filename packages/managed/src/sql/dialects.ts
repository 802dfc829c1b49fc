/** The statements of a database: all of what a source sends, but LISTEN. */
export interface Dialect {
  /**
   * The counter, the instant in milliseconds, and rows above a version, in the order of their versions. One row at least,
   * without a name where there is none.
   *
   * Values: the version, whether of overrides (1 or 0), how many at most.
   */
  readonly changes: string;
  /** The row of a name. Values: the name. */
  readonly read: string;
  /** Writes a row if it still has a version. Values: name, record, whether an override (1 or 0), the version before or 0. */
  readonly put: string;
  /** Whether rows that `put` returned say that it has written. */
  readonly hasWritten: (rows: readonly unknown[]) => boolean;
}

/** Tells databases apart: both know it. */
export const VERSION = 'select version() as version';

export function dialectOf(version: string, table: string): Dialect {
  return /postgresql|cockroach/i.test(version) ? postgres(table) : mysql(table);
}

function postgres(table: string): Dialect {
  return {
    changes: `select c.version as counter, floor(extract(epoch from clock_timestamp()) * 1000) as now_ms, p.name, p.record, p.version
      from ${table}_counter c left join ${table} p on p.version > $1 and p.is_override = ($2 = 1)
      where c.id = 1 order by p.version limit $3`,
    read: `select record, version from ${table} where name = $1`,
    // A conflicting row is locked, and its version compared as it is then. The counter is locked until the commit.
    put: `with counted as (update ${table}_counter set version = version + 1 where id = 1 returning version)
      insert into ${table} as p (name, record, is_override, version)
      select $1, $2, $3 = 1, version from counted
      on conflict (name) do update set record = excluded.record, version = excluded.version where p.version = $4
      returning version, pg_notify('${channelOf(table)}', '')`,
    hasWritten: (rows) => rows.length > 0,
  };
}

function mysql(table: string): Dialect {
  return {
    changes: `select c.version as counter, floor(unix_timestamp(now(3)) * 1000) as now_ms, p.name, p.record, p.version
      from ${table}_counter c left join ${table} p on p.version > ? and p.is_override = ?
      where c.id = 1 order by p.version limit ?`,
    read: `select record, version from ${table} where name = ?`,
    put: `call ${table}_put(?, ?, ?, ?)`,
    // What a procedure selects is a list of rows in the list of results.
    hasWritten: (rows) => rows.flat().some((row) => Number((row as { readonly written?: unknown }).written) === 1),
  };
}

/** The channel of Postgres on which a put is notified. */
export function channelOf(table: string): string {
  return table.replaceAll('.', '_');
}
