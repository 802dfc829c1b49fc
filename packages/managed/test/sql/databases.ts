import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import type { ListeningClient, SqlQuery } from '@sluice/managed';
import { sqlStub } from './stub.ts';

/** A database in which a source is tested, empty. */
export interface Database {
  readonly query: SqlQuery;
  /** What `select version()` answers, of which a stub is made. */
  readonly version: string;
  /** Only Postgres: a connection of its own. */
  listen?(): Promise<ListeningClient & { end(): Promise<void> }>;
  /** Loses everything, and counts from 0. */
  lose(): Promise<void>;
  close(): Promise<void>;
}

type Open = () => Promise<Database>;

/** What the row `sql` of the matrix says: where the clients are installed, and the addresses of its servers. */
interface RealDatabases {
  readonly modules: string;
  readonly postgres: string;
  readonly mysql: string;
}

const given = process.env['SLUICE_SQL'];
const real = given === undefined ? undefined : (JSON.parse(given) as RealDatabases);

export const realDatabases: readonly (readonly [name: string, open: Open])[] =
  real === undefined
    ? []
    : [
        ['Postgres', () => openPostgres(real)],
        ['MariaDB', () => openMysql(real)],
      ];

export const databases: readonly (readonly [name: string, open: Open])[] = [
  ['a stub of Postgres', () => stubbed('PostgreSQL 15.14')],
  ['a stub of MariaDB', () => stubbed('10.11.19-MariaDB')],
  ...realDatabases,
];

function stubbed(version: string): Promise<Database> {
  const stub = sqlStub(version);
  const lose = (): Promise<void> => {
    stub.restore({ rows: new Map(), counter: 0 });
    return Promise.resolve();
  };
  return Promise.resolve({ query: stub.query, version, lose, close: () => Promise.resolve() });
}

const MIGRATIONS = new URL('../../migrations/', import.meta.url);
const EMPTY = ['delete from sluice_policies', 'update sluice_policies_counter set version = 0'];
const TABLES = ['sluice_policies', 'sluice_policies_counter'];

interface PgClient extends ListeningClient {
  connect(): Promise<void>;
  end(): Promise<void>;
}

interface Pg {
  readonly Pool: new (options: object) => {
    query(text: string, values?: readonly unknown[]): Promise<{ rows: unknown[] }>;
    end(): Promise<void>;
  };
  readonly Client: new (options: object) => PgClient;
}

async function openPostgres({ modules, postgres }: RealDatabases): Promise<Database> {
  const { Pool, Client } = createRequire(import.meta.url)(`${modules}/node_modules/pg/lib/index.js`) as Pg;
  const pool = new Pool({ connectionString: postgres });
  const query: SqlQuery = async (text, values) => (await pool.query(text, values)).rows;
  for (const table of TABLES) await pool.query(`drop table if exists ${table}`);
  await pool.query(await readFile(new URL('postgres/1-policies.sql', MIGRATIONS), 'utf8'));
  return {
    query,
    version: 'PostgreSQL',
    listen: async () => {
      const client = new Client({ connectionString: postgres });
      await client.connect();
      return client;
    },
    lose: async () => {
      for (const statement of EMPTY) await pool.query(statement);
    },
    close: () => pool.end(),
  };
}

interface Mysql {
  createPool(options: object): {
    query(text: string, values?: readonly unknown[]): Promise<[unknown[], unknown]>;
    end(): Promise<void>;
  };
}

async function openMysql({ modules, mysql }: RealDatabases): Promise<Database> {
  const { createPool } = createRequire(import.meta.url)(`${modules}/node_modules/mysql2/promise.js`) as Mysql;
  const pool = createPool({ uri: mysql, multipleStatements: true });
  const query: SqlQuery = async (text, values) => (await pool.query(text, values))[0];
  for (const table of TABLES) await pool.query(`drop table if exists ${table}`);
  await pool.query('drop procedure if exists sluice_policies_put');
  for (const file of ['1-policies', '2-put']) {
    await pool.query(await readFile(new URL(`mysql/${file}.sql`, MIGRATIONS), 'utf8'));
  }
  return {
    query,
    version: 'MariaDB',
    lose: async () => {
      for (const statement of EMPTY) await pool.query(statement);
    },
    close: () => pool.end(),
  };
}
