import { createHash } from 'node:crypto';
import { PolicyError, shown } from '../errors.ts';
import type { Swap, Swapped } from '../stores/database-store.ts';
import { parseTable } from '../stores/rows.ts';
import { nameVersion, sqlStore, type SqlStore } from '../stores/sql-store.ts';
import { parsePrefix } from '../values/prefix.ts';
import { readOptions, withDefault, type Field, type Options, type WithDefault } from '../values/shape.ts';

const SHAPE = {
  /** The name of your application. All keys begin with it. 1 to 64 letters, digits, `.`, `_`, `-`, `:` and `/`. */
  prefix: ((given) => parsePrefix(given, 'mysqlStore')) as Field<string>,
  /** The name of the table, with its database if necessary: `'limits.sluice'`. Default `'sluice'`. */
  table: withDefault(parseTable, 'sluice') as WithDefault<string>,
};

export interface MysqlStoreOptions extends Options<typeof SHAPE> {}

/** A `Pool` of mysql2/promise or mysql2: the parts used here. */
export type MysqlClient = MysqlPromiseClient | { promise(): MysqlPromiseClient };

export interface MysqlPromiseClient {
  query(sql: string, values?: unknown[]): Promise<unknown>;
}

/** A store in MySQL or MariaDB. */
export interface MysqlStore extends SqlStore<'mysql'> {}

/**
 * Limits that hold across all processes of an application, in its MySQL (8.0.29 or later) or MariaDB (10.6 or later).
 * Concurrent requests are one call of one procedure: one round trip, and a second one if another process has written
 * one of the keys since this one read it. Decisions use the server's clock. Writes remove expired rows.
 *
 * @param client - A `Pool` of mysql2/promise or mysql2. The store never closes it.
 * @throws PolicyError for any other client, and for bad, missing or unknown options.
 *
 * @example
 * ```ts
 * const store = mysqlStore(createPool(url), { prefix: 'shop' });
 * app.use(rateLimit({ limit: 100, window: '1m', store }));
 * ```
 */
export function mysqlStore(client: MysqlClient, options: MysqlStoreOptions): MysqlStore {
  const { prefix, table } = readOptions((options as unknown) ?? {}, SHAPE, 'mysqlStore');
  const query = makeQuery(client);
  const { procedure, statements } = migration(table);

  async function swap({ keys, texts, atMs, maxAgeMs, writes }: Swap): Promise<Swapped> {
    const hex = (key: string): string => Buffer.from(`${prefix}:${key}`).toString('hex');
    const held = keys.map((key, i) => ({ k: hex(key), h: texts[i] === undefined ? null : sha1(texts[i]) }));
    const written = writes.map(({ key, text = null, expiresAtMs }) => ({ k: hex(key), t: text, e: expiresAtMs }));
    const values = [JSON.stringify(held), atMs, maxAgeMs, JSON.stringify(written)];
    const reply = (await query(`call ${procedure}(?, ?, ?, ?)`, values)) as readonly [Reply];
    const [rows, [{ done, now_ms }]] = reply[0];
    // A pool may return numbers as strings.
    return {
      isDone: Number(done) === 1,
      atMs: Number(now_ms),
      texts: rows.map(({ text }) => text ?? undefined),
    };
  }

  return sqlStore({
    source: 'mysql',
    table,
    statements,
    query,
    swap,
    missing: '1305',
    denied: ['1044', '1142', '1370', '1419'],
    rolledBack: ['1213'], // a deadlock
  });
}

/** What the procedure returns: a row for each key, and one for the whole call. */
type Reply = readonly [
  rows: readonly { readonly text: string | null }[],
  readonly [{ readonly done: unknown; readonly now_ms: unknown }],
];

/**
 * The server compares values by their hashes: whole values would make its temporary tables large, or put them on disk.
 */
function sha1(text: string): string {
  return createHash('sha1').update(text).digest('hex');
}

function makeQuery(client: MysqlClient): (sql: string, values?: unknown[]) => Promise<unknown> {
  const { promise } = ((client as unknown) ?? {}) as { promise?: unknown };
  const pool = (typeof promise === 'function' ? promise.call(client) : client) as
    Partial<MysqlPromiseClient> | undefined;
  if (typeof pool?.query !== 'function') {
    throw new PolicyError('client', `mysqlStore takes a Pool of mysql2, got ${shown(client)}`, 'SLUICE_OPTION_INVALID');
  }
  return async (sql, values) => (pool as MysqlPromiseClient).query(sql, values);
}

function migration(table: string): { readonly procedure: string; readonly statements: readonly string[] } {
  const keys = `json_table(held, '$[*]' columns (i for ordinality, k varchar(4096) character set ascii path '$.k', h char(40) character set ascii path '$.h')) as asked`;
  const news = `json_table(written, '$[*]' columns (k varchar(4096) character set ascii path '$.k', t varchar(40000) character set ascii path '$.t', e bigint path '$.e')) as new`;
  const body = `(held json, at_ms bigint, max_age bigint, written json)
begin
  declare now_ms bigint;
  declare done int default 0;
  declare exit handler for sqlexception begin rollback; resignal; end;
  set transaction isolation level read committed;
  start transaction;
  if json_length(written) > 0 then
    -- Rows without a text hold keys that have none yet. They end last, out of the way of those that are looked for.
    insert into ${table} (k, text, expires_at) select unhex(k), '', 9007199254740991 from ${keys} order by 1
      on duplicate key update expires_at = ${table}.expires_at;
  end if;
  select nullif(kept.text, '') as text
    from ${keys} left join ${table} as kept on kept.k = unhex(asked.k) order by asked.i;
  -- Read after the texts, of which none is of a later instant then.
  set now_ms = floor(timestampdiff(microsecond, '1970-01-01', utc_timestamp(3)) / 1000);
  set done = at_ms between now_ms - max_age and now_ms and not exists (
    select * from ${keys} left join ${table} as kept on kept.k = unhex(asked.k)
      where not (cast(sha1(nullif(kept.text, '')) as binary) <=> cast(asked.h as binary)));
  select done, now_ms;
  if done and json_length(written) > 0 then
    update ${table} as kept join ${news} on kept.k = unhex(new.k) set kept.text = ifnull(new.t, ''), kept.expires_at = new.e;
    delete kept from ${table} as kept join ${keys} on kept.k = unhex(asked.k) where kept.text = '';
    -- More than was written, and never what is locked.
    delete kept from (select k from ${table} where expires_at < now_ms limit 4 for update skip locked) as ended
      join ${table} as kept on kept.k = ended.k;
    commit;
  else
    rollback;
  end if;
end`;
  const procedure = nameVersion(table, body);
  const makesTable = `create table if not exists ${table} (
  k varbinary(2048) primary key,
  text mediumtext character set ascii collate ascii_bin not null,
  expires_at bigint not null,
  index (expires_at)
) engine = InnoDB`;
  return { procedure, statements: [makesTable, `create procedure if not exists ${procedure}${body}`] };
}
