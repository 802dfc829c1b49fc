import type { Database } from './sqlite-store.ts';

export interface OpenDatabase extends Database {
  readonly driver: string;
  close(): void;
}

/** While a process starts, it may wait for others. The store sets a time of its own. */
const BUSY = 'PRAGMA busy_timeout = 10000;';

/** Opens a file, with the SQLite of Node where it has one (22.13 and later), else with one in WebAssembly. */
export async function openDatabase(file: string): Promise<OpenDatabase> {
  // Asked so, because the types of Node 20 do not know it.
  const sqlite = process.getBuiltinModule('node:sqlite') as unknown as NodeSqlite | undefined;
  return sqlite === undefined ? withWebAssembly(file) : withNode(sqlite, file);
}

interface NodeSqlite {
  readonly DatabaseSync: new (file: string) => Database & { close(): void };
}

function withNode({ DatabaseSync }: NodeSqlite, file: string): OpenDatabase {
  const database = new DatabaseSync(file);
  database.exec(`${BUSY} PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL`);
  return {
    driver: 'node:sqlite',
    exec: (sql) => database.exec(sql),
    prepare: (sql) => database.prepare(sql),
    close: () => {
      database.close();
    },
  };
}

async function withWebAssembly(file: string): Promise<OpenDatabase> {
  const sqlite = await import('node-sqlite3-wasm');
  const database = new sqlite.default.Database(file);
  // It has no WAL, without which every decision would wait for the disk. A loss of power may cost the file: keep limits
  // alone in it.
  database.exec(`${BUSY} PRAGMA journal_mode = MEMORY; PRAGMA synchronous = OFF`);
  return {
    driver: 'node-sqlite3-wasm',
    exec: (sql) => {
      database.exec(sql);
    },
    // A statement of its own that has read one row keeps the file locked until it is finalized, as these functions do.
    prepare: (sql) => ({
      get: (...values) => database.get(sql, values),
      run: (...values) => database.run(sql, values),
    }),
    close: () => {
      database.close();
    },
  };
}
