import { StoreError } from '@sluice/core';
import { readOptions, shown } from '@sluice/core/spi';
import type { OverrideRecord } from '../overrides/override-record.ts';
import { readRecordName } from '../overrides/target.ts';
import type { OverridePage, OverrideSource, PolicyRecord, PolicySource } from '../policy-source.ts';
import { channelOf, dialectOf, VERSION, type Dialect } from './dialects.ts';
import { listenOn } from './listening.ts';
import { SQL_SOURCE, type SqlQuery, type SqlSettings, type SqlSourceOptions } from './options.ts';

/** How many rows one query returns. */
const PAGE = 1000;

/** A row of the statement `changes`: the first three are null where nothing has changed. */
interface Row {
  /** MySQL returns bytes. */
  readonly name: unknown;
  readonly record: unknown;
  readonly version: unknown;
  readonly counter: unknown;
  readonly now_ms: unknown;
}

interface Changes {
  readonly counter: number;
  readonly nowMs: number;
  readonly rows: readonly { readonly name: string; readonly record: object; readonly version: number }[];
}

/**
 * Managed policies, and their overrides, in a table of Postgres or MySQL (or MariaDB), through your own client. The
 * migrations are in the folder `migrations` of this package. A poll is two small queries, which return only rows that have
 * changed.
 *
 * @throws PolicyError for bad or unknown options. Nothing is sent before the first call.
 *
 * @example
 * ```ts
 * const pool = new pg.Pool();
 * const query = async (text, values) => (await pool.query(text, values)).rows;
 * const policies = createPolicies(sqlSource({ query }));
 * ```
 */
export function sqlSource(options: SqlSourceOptions): PolicySource {
  return new SqlSource(readOptions(options, SQL_SOURCE, 'sqlSource'));
}

class SqlSource implements PolicySource {
  readonly name: string;
  readonly everyMs: number;
  readonly overrides: OverrideSource;
  readonly watch?: NonNullable<PolicySource['watch']>;
  readonly #query: SqlQuery;
  readonly #table: string;
  #dialect: Promise<Dialect> | undefined;
  #counter = 0;
  #records: Readonly<Record<string, unknown>> = Object.freeze({});
  /** The version of the row of each record. A write compares it, so that it replaces only what was read. */
  readonly #versions = new WeakMap<object, number>();

  constructor({ query, table, everyMs, listen }: SqlSettings) {
    this.name = `the table ${table}`;
    this.everyMs = everyMs;
    this.#query = query;
    this.#table = table;
    this.overrides = { changes: (cursor) => this.#changedOverrides(cursor), read: (name) => this.#read(name) };
    if (listen !== undefined) {
      this.watch = (changed, ended) => listenOn({ client: listen, query, channel: channelOf(table) }, changed, ended);
    }
  }

  /** The same object as long as nothing has changed. */
  async load(): Promise<Readonly<Record<string, unknown>>> {
    let changes = await this.#changes(this.#counter, 0);
    if (changes.counter < this.#counter) {
      this.#records = Object.freeze({});
      changes = await this.#changes(0, 0);
    }
    let records = this.#records;
    while (changes.rows.length > 0) {
      records = { ...records, ...Object.fromEntries(changes.rows.map(({ name, record }) => [name, record])) };
      const last = (changes.rows.at(-1) as { version: number }).version;
      this.#counter = last;
      if (changes.rows.length < PAGE) break;
      changes = await this.#changes(last, 0);
    }
    this.#records = Object.freeze(records);
    return records;
  }

  async put(name: string, record: PolicyRecord | OverrideRecord, before: unknown): Promise<boolean> {
    const { put, hasWritten } = await this.#dialectOf();
    const isOverride = readRecordName(name) === undefined ? 0 : 1;
    const version = before === undefined ? 0 : (this.#versions.get(before as object) ?? 0);
    return hasWritten(await this.#query(put, [name, JSON.stringify(record), isOverride, version]));
  }

  async remove(name: string, tombstone: PolicyRecord | OverrideRecord, before: unknown): Promise<boolean> {
    return this.put(name, tombstone, before);
  }

  async #changedOverrides(cursor: string | undefined): Promise<OverridePage> {
    const after = Number(cursor ?? 0);
    const changes = await this.#changes(after, 1);
    if (changes.counter < after) return this.#changedOverrides(undefined);
    const { rows, nowMs } = changes;
    return {
      records: rows.map(({ name, record }) => [name, record] as const),
      cursor: String(rows.at(-1)?.version ?? after),
      hasMore: rows.length === PAGE,
      isFromStart: cursor === undefined,
      nowMs,
    };
  }

  async #read(name: string): Promise<unknown> {
    const { read } = await this.#dialectOf();
    const [row] = (await this.#query(read, [name])) as readonly Row[];
    if (row === undefined) return undefined;
    const record = recordOf(textOf(row.record));
    this.#versions.set(record, Number(row.version));
    return record;
  }

  async #changes(after: number, isOverride: 0 | 1): Promise<Changes> {
    const { changes } = await this.#dialectOf();
    const rows = await this.#query(changes, [after, isOverride, PAGE]);
    const [first] = rows as readonly (Row | undefined)[];
    const counter = Number(first?.counter);
    if (first === undefined || !Number.isSafeInteger(counter) || counter < 0) {
      throw new StoreError(
        'SLUICE_STORE_REPLY_INVALID',
        `${this.name} has no row in ${this.#table}_counter: run the migrations of @sluice/managed; query() returned ${shown(rows)}`,
      );
    }
    const changed = (rows as readonly Row[]).filter(({ name }) => name !== null).map((row) => this.#changedRow(row));
    this.#checkOrder(after, changed);
    return { counter, nowMs: Number(first.now_ms), rows: changed };
  }

  /** @throws StoreError for rows that are not above a version, in their order: a load would never end. */
  #checkOrder(after: number, rows: Changes['rows']): void {
    let before = after;
    for (const { name, version } of rows) {
      if (!(version > before)) {
        throw new StoreError(
          'SLUICE_STORE_REPLY_INVALID',
          `${this.name}: query() returned the version ${shown(version)} of ${name} after ${String(before)}, and not in the order of the statement; return its rows as they are`,
        );
      }
      before = version;
    }
  }

  #changedRow({ name, record: text, version }: Row): Changes['rows'][number] {
    const record = recordOf(textOf(text));
    this.#versions.set(record, Number(version));
    return { name: textOf(name), record, version: Number(version) };
  }

  #dialectOf(): Promise<Dialect> {
    this.#dialect ??= this.#query(VERSION, []).then(
      ([row]) => dialectOf(textOf((row as { readonly version?: unknown } | undefined)?.version), this.#table),
      (error: unknown) => {
        this.#dialect = undefined;
        throw error;
      },
    );
    return this.#dialect;
  }
}

function textOf(given: unknown): string {
  return String(given);
}

/** Text that is not JSON is a record too: its policy cannot be used, and can be put again. */
function recordOf(text: string): object {
  try {
    const record: unknown = JSON.parse(text);
    if (typeof record === 'object' && record !== null) return record;
  } catch {
    // Not what Sluice wrote.
  }
  return { unreadable: text };
}
