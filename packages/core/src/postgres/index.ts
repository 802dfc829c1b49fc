import { PolicyError, shown } from '../errors.ts';
import type { Swap, Swapped } from '../stores/database-store.ts';
import { parseTable, writeKey } from '../stores/rows.ts';
import { nameVersion, sqlStore, type SqlStore } from '../stores/sql-store.ts';
import { parsePrefix } from '../values/prefix.ts';
import { flag, readOptions, withDefault, type Field, type Options, type WithDefault } from '../values/shape.ts';

const SHAPE = {
  /** The name of your application. All keys begin with it. 1 to 64 letters, digits, `.`, `_`, `-`, `:` and `/`. */
  prefix: ((given) => parsePrefix(given, 'postgresStore')) as Field<string>,
  /** The name of the table, with its schema if necessary: `'limits.sluice'`. Default `'sluice'`. */
  table: withDefault(parseTable, 'sluice') as WithDefault<string>,
  /**
   * Whether counts survive a crash of the server, which then flushes each batch to disk. Only affects a table that the
   * store creates. Default `false`: an unlogged table, which is empty after a crash.
   */
  durable: withDefault(flag, false) as WithDefault<boolean>,
};

export interface PostgresStoreOptions extends Options<typeof SHAPE> {}

/** A `Pool` of pg: the parts used here. */
export interface PgClient {
  query(text: string, values?: unknown[]): Promise<{ readonly rows: readonly object[] }>;
  on?(event: 'error', listener: () => void): unknown;
}

/** The function of the package postgres: the parts used here. */
export interface PostgresJsClient {
  unsafe(text: string, values?: string[]): PromiseLike<readonly object[]>;
}

/** A store in PostgreSQL. */
export interface PostgresStore extends SqlStore<'postgres'> {}

/**
 * Limits that hold across all processes of an application, in its PostgreSQL (14 or later), with or without PgBouncer.
 * Concurrent requests are one call of one function: one round trip, and a second one if another process has written one
 * of the keys since this one read it. Decisions use the server's clock. Writes remove expired rows.
 *
 * @param client - A `Pool` of pg or the function of postgres. The store never closes it.
 * @throws PolicyError for any other client, and for bad, missing or unknown options.
 *
 * @example
 * ```ts
 * const store = postgresStore(new Pool({ connectionString }), { prefix: 'shop' });
 * app.use(rateLimit({ limit: 100, window: '1m', store }));
 * ```
 */
export function postgresStore(client: PgClient | PostgresJsClient, options: PostgresStoreOptions): PostgresStore {
  const { prefix, table, durable } = readOptions((options as unknown) ?? {}, SHAPE, 'postgresStore');
  const query = makeQuery(client);
  const [name, sql] = migration(table, durable);
  const types = ['text[]', 'text[]', 'bigint', 'bigint', 'text[]', 'text[]', 'bigint[]'];
  // Strings, because each driver writes arrays in its own way.
  const call = `select * from ${name}(${types.map((type, i) => `$${String(i + 1)}::text::${type}`).join(', ')})`;

  async function swap({ keys, texts, atMs, maxAgeMs, writes }: Swap): Promise<Swapped> {
    const row = (key: string): string => writeKey(prefix, key);
    const values = [
      ...[keys.map(row), texts].map(formatArray),
      String(atMs),
      String(maxAgeMs),
      ...[writes.map(({ key }) => row(key)), writes.map(({ text }) => text)].map(formatArray),
      formatArray(writes.map(({ expiresAtMs }) => String(expiresAtMs))),
    ];
    const [swapped] = (await query(call, values)) as [Row];
    const held = JSON.parse(swapped.held) as (string | null)[];
    return { isDone: swapped.done, atMs: Number(swapped.now), texts: held.map((text) => text ?? undefined) };
  }

  return sqlStore({
    source: 'postgres',
    table,
    statements: [sql],
    query,
    swap,
    missing: '42883',
    denied: ['42501'],
    // Serialization failures, with an isolation level that may be the default; and deadlocks.
    rolledBack: ['40001', '40P01'],
  });
}

/** What the function returns. */
interface Row {
  readonly done: boolean;
  readonly now: string | bigint;
  /** JSON, since drivers differ in arrays. */
  readonly held: string;
}

type Query = (text: string, values?: string[]) => Promise<readonly object[]>;

function makeQuery(client: PgClient | PostgresJsClient): Query {
  const given: unknown = client;
  const { query, unsafe, on } = (given ?? {}) as Partial<PgClient & PostgresJsClient>;
  if (typeof unsafe === 'function') return async (text, values) => unsafe.call(client, text, values);
  if (typeof query !== 'function') {
    const expected = 'postgresStore takes a Pool of pg, or the function of postgres';
    throw new PolicyError('client', `${expected}, got ${shown(client)}`, 'SLUICE_OPTION_INVALID');
  }
  // Otherwise an idle connection that breaks would end the process; the breaker reports the outage.
  on?.call(client, 'error', () => undefined);
  return async (text, values) => (await query.call(client, text, values)).rows;
}

/** Writes an array as Postgres reads it, whatever the driver. */
function formatArray(texts: readonly (string | undefined)[]): string {
  const quoted = texts.map((text) => (text === undefined ? 'NULL' : `"${text.replace(/["\\]/g, '\\$&')}"`));
  return `{${quoted.join()}}`;
}

function migration(table: string, isDurable: boolean): readonly [name: string, sql: string] {
  const body = writeBody(table);
  const name = nameVersion(table, body);
  const sql = `select pg_advisory_xact_lock(hashtextextended('${table}', 1));
create ${isDurable ? '' : 'unlogged '}table if not exists ${table} (
  key text collate "C" primary key,
  text text not null,
  expires_at bigint not null
) with (fillfactor = 70);
create or replace function ${name}${body}`;
  return [name, sql];
}

function writeBody(table: string): string {
  return `(
  keys text[], texts text[], at bigint, max_age bigint, new_keys text[], new_texts text[], new_ends bigint[],
  out done boolean, out now bigint, out held text
) language plpgsql as $$
declare
  found_texts text[];
  page bigint;
begin
  -- Looked at before the locks, too: where many compete, those that have lost do not wait first.
  for round in 1..2 loop
    select array_agg((select kept.text from ${table} as kept where kept.key = asked.key) order by place)
      into found_texts from unnest(keys) with ordinality as asked (key, place);
    exit when round = 2 or cardinality(new_keys) = 0 or found_texts is distinct from texts;
    -- They hold keys without a row as well.
    perform pg_advisory_xact_lock(lock)
      from (select distinct hashtextextended(key, 0) as lock from unnest(keys) as key order by lock) as locks;
  end loop;
  held := to_json(found_texts)::text;
  now := floor(extract(epoch from clock_timestamp()) * 1000);
  done := (found_texts is not distinct from texts) and (at between now - max_age and now);
  if not done or cardinality(new_keys) = 0 then return; end if;
  insert into ${table} as kept
    select * from unnest(new_keys, new_texts, new_ends) as new (key, text, expires_at) where new.text is not null
    on conflict (key) do update set text = excluded.text, expires_at = excluded.expires_at;
  if array_position(new_texts, null) is not null then
    delete from ${table} as kept using unnest(new_keys, new_texts) as new (key, text)
      where kept.key = new.key and new.text is null;
  end if;
  -- At times, what has ended in a page drawn by lot is removed: more than was written, and never what is locked.
  if random() < 0.8 then return; end if;
  page := floor(random() * (pg_relation_size('${table}') / 8192));
  delete from ${table} where ctid = any(array(
    select ctid from ${table}
      where ctid >= format('(%s,0)', page)::tid and ctid < format('(%s,0)', page + 1)::tid and expires_at < now
      for update skip locked));
end $$;`;
}
