import type { PolicySource } from '@sluice/core/managed';
import { createPool } from 'mysql2/promise';
import pg from 'pg';
import { MARIADB_TABLE, mariadbSource, POSTGRES_TABLE, postgresSource } from './sql-source.ts';

/** The name of the limit in the table, and of this application on its list. */
export const LIMIT = 'orders';
export const APP = 'shop';

export interface Database {
  readonly source: PolicySource;
  /** Makes the table, unless it is there. */
  createTable(): Promise<unknown>;
  close(): Promise<void>;
}

/** The database of `DATABASE_URL`. Nothing is sent before the first call. */
export function openDatabase({ DATABASE_URL: url = 'postgres://127.0.0.1/postgres' }: NodeJS.ProcessEnv): Database {
  if (/^(mysql|mariadb):/.test(url)) {
    const pool = createPool(url);
    return {
      source: mariadbSource(pool),
      createTable: () => pool.query(MARIADB_TABLE),
      close: () => pool.end(),
    };
  }
  const pool = new pg.Pool({ connectionString: url });
  pool.on('error', () => undefined); // an idle connection was lost: the next query opens another one, or rejects
  return {
    source: postgresSource(pool),
    createTable: () => pool.query(POSTGRES_TABLE),
    close: () => pool.end(),
  };
}

/** The error in one line, without a stack: a database that is away is not a bug. */
export function messageOf(error: unknown): string {
  const { message, code } = error as NodeJS.ErrnoException;
  // When a name has several addresses and none answers, the error has a code and no message.
  return (message === '' ? String(code) : message).replace(/\s+/g, ' ');
}
