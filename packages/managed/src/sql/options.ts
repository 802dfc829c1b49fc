import { invalidOption, optional, timerMs, valueThat, type OptionTable, type SettingsOf } from '@sluice/core/spi';

/** Sends a statement, with values in the order of its places, and returns the rows of its result. */
export type SqlQuery = (text: string, values: readonly (string | number)[]) => Promise<readonly unknown[]>;

/** A connection of Postgres of its own, such as a connected `pg.Client`; a pool hears nothing. */
export interface ListeningClient {
  query(text: string): Promise<unknown>;
  on(event: string, heard: (message?: { readonly payload?: string | undefined }) => void): unknown;
  removeListener(event: string, heard: (message?: { readonly payload?: string | undefined }) => void): unknown;
}

export interface SqlSourceOptions {
  /**
   * Sends a statement through your client or pool: `(text, values) => pool.query(text, values).then(({ rows }) => rows)`
   * with pg, `(text, values) => pool.query(text, values).then(([rows]) => rows)` with mysql2/promise.
   */
  readonly query: SqlQuery;
  /** The table, as the migrations of this package make it, with a schema if need be. Default `sluice_policies`. */
  readonly table?: string | undefined;
  /** Milliseconds from one poll to the next. Default 1000. */
  readonly everyMs?: number | undefined;
  /**
   * Only Postgres: a connection that hears of changes, which are then polled for at once. A pooler in transaction mode
   * swallows notifications: then a warning says so, and polling finds changes. Default: none.
   */
  readonly listen?: ListeningClient | undefined;
}

/** The options, checked. */
export type SqlSettings = SettingsOf<SqlSourceOptions, Pick<SqlSourceOptions, 'listen'>>;

const TABLE = /^(?:[A-Za-z_]\w{0,40}\.)?[A-Za-z_]\w{0,40}$/;
const isFunction = (given: unknown): boolean => typeof given === 'function';

export const SQL_SOURCE: OptionTable<SqlSettings> = {
  query: (given) => {
    if (isFunction(given)) return given as SqlQuery;
    throw invalidOption(
      'query',
      'a function of a statement and its values that returns rows, such as (text, values) => pool.query(text, values).then(({ rows }) => rows)',
      given,
    );
  },
  table: valueThat(
    (given) => typeof given === 'string' && TABLE.test(given),
    'the name of a table, such as "sluice_policies" or "limits.sluice_policies"',
    'sluice_policies',
  ),
  everyMs: timerMs(1000),
  listen: optional(valueThat(isListening, 'a connection with query(), on() and removeListener(), such as a pg.Client')),
};

function isListening(given: unknown): boolean {
  const client = (given ?? {}) as Readonly<Record<keyof ListeningClient, unknown>>;
  return [client.query, client.on, client.removeListener].every(isFunction);
}
