import type { PolicySource } from '@sluice/core/managed';
import { createPool } from 'mysql2/promise';
import pg from 'pg';
import { consulSource } from './consul-source.ts';
import { etcdSource } from './etcd-source.ts';
import { MARIADB_TABLE, mariadbSource, POSTGRES_TABLE, postgresSource } from './sql-source.ts';

export interface OpenedSource {
  readonly source: PolicySource;
  /** Makes the table of a database, unless it is there. */
  createTable?(): Promise<unknown>;
  close?(): Promise<void>;
}

/** The source that the environment names. Nothing is sent before the first call. */
export function openSource(env: NodeJS.ProcessEnv): OpenedSource {
  const { CONSUL_HTTP_ADDR, CONSUL_HTTP_TOKEN, ETCD, DATABASE_URL = 'postgres://127.0.0.1/postgres' } = env;
  if (CONSUL_HTTP_ADDR !== undefined) return { source: consulSource(CONSUL_HTTP_ADDR, CONSUL_HTTP_TOKEN) };
  if (ETCD !== undefined) return { source: etcdSource(ETCD) };
  if (/^(mysql|mariadb):/.test(DATABASE_URL)) {
    const pool = createPool(DATABASE_URL);
    return { source: mariadbSource(pool), createTable: () => pool.query(MARIADB_TABLE), close: () => pool.end() };
  }
  const pool = new pg.Pool({ connectionString: DATABASE_URL });
  pool.on('error', () => undefined); // an idle connection was lost: the next query opens another one, or rejects
  return { source: postgresSource(pool), createTable: () => pool.query(POSTGRES_TABLE), close: () => pool.end() };
}
