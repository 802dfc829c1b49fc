import type { PolicySource } from '@sluice/core/managed';
import { createPool } from 'mysql2/promise';
import pg from 'pg';
import { MARIADB_TABLE, mariadbSource, POSTGRES_TABLE, postgresSource } from './sql-source.ts';

export interface Database {
  readonly source: PolicySource;
  /** Makes the table, unless it is there. */
  createTable(): Promise<unknown>;
  close(): Promise<void>;
}

/** Postgres, MariaDB or MySQL, as the URL says. Nothing is sent before the first call. */
export function openDatabase(url = 'postgres://127.0.0.1/postgres'): Database {
  if (/^(mysql|mariadb):/.test(url)) {
    const pool = createPool(url);
    return { source: mariadbSource(pool), createTable: () => pool.query(MARIADB_TABLE), close: () => pool.end() };
  }
  const pool = new pg.Pool({ connectionString: url });
  pool.on('error', () => undefined); // an idle connection was lost: the next query opens another one, or rejects
  return { source: postgresSource(pool), createTable: () => pool.query(POSTGRES_TABLE), close: () => pool.end() };
}
