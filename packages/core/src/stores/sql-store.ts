import { createHash } from 'node:crypto';
import { getMessage, StoreError } from '../errors.ts';
import { databaseStore, toStoreError, type Swap, type Swapped } from './database-store.ts';
import type { Store } from './store.ts';

/** A store in a database that has stored functions. */
export interface SqlStore<Source extends string> extends Store {
  readonly source: Source;
  /**
   * Creates the table and the function unless they exist, as the first decision does. For deployments in which another
   * user migrates the database; run it again after an upgrade.
   *
   * @throws (rejects) StoreError `SLUICE_STORE_FAILED`, which shows the SQL if permissions are missing.
   */
  migrate(): Promise<void>;
}

/** What differs between databases. */
export interface Dialect<Source extends string> {
  readonly source: Source;
  readonly table: string;
  /** Creates the table and the function. May be run twice, and by several processes at once. */
  readonly statements: readonly string[];
  query(sql: string): Promise<unknown>;
  swap(what: Swap): Promise<Swapped>;
  /** Error codes: the function does not exist; creating it is not permitted; the transaction was rolled back. */
  readonly missing: string;
  readonly denied: readonly string[];
  readonly rolledBack: readonly string[];
}

const MAX_ROLLED_BACK = 5;

export function sqlStore<Source extends string>(dialect: Dialect<Source>): SqlStore<Source> {
  const { source, table, statements, missing, denied, rolledBack } = dialect;

  async function migrate(): Promise<void> {
    try {
      for (const statement of statements) await dialect.query(statement);
    } catch (error) {
      const isDenied = denied.includes(readCode(error));
      const { kind = 'other' } = isDenied
        ? ({ kind: 'denied' } as const)
        : (toStoreError(error) as Partial<StoreError>);
      const hint = isDenied ? `; have a user with the permission run:\n${statements.join(';\n')}` : '';
      const why = `${source}Store cannot create its table ${table}: ${getMessage(error)}${hint}`;
      throw new StoreError('SLUICE_STORE_FAILED', why, { cause: error, kind, sent: false });
    }
  }

  async function swap(what: Swap): Promise<Swapped> {
    for (let tries = 1; ; tries++) {
      try {
        return await dialect.swap(what);
      } catch (error) {
        const code = readCode(error);
        if (code === missing && tries === 1) await migrate();
        else if (!rolledBack.includes(code) || tries > MAX_ROLLED_BACK) throw error;
      }
    }
  }

  return Object.assign(databaseStore(source, swap), { source, migrate });
}

/** The name of a function with this body: while processes of two releases run, each calls its own. */
export function nameVersion(table: string, body: string): string {
  return `${table}_swap_${createHash('sha1').update(body).digest('hex').slice(0, 8)}`;
}

/** MySQL's error number, or PostgreSQL's code. */
function readCode(error: unknown): string {
  const { errno, code } = (error ?? {}) as { readonly errno?: unknown; readonly code?: unknown };
  return String(errno ?? code);
}
