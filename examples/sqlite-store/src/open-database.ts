import type { Database } from './sqlite-store.ts';

export interface OpenDatabase extends Database {
  readonly driver: string;
  close(): void;
}

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
  database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL');
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
  // It has no WAL, without which every decision would wait for the disk. A loss of power may cost the file, so keep only limits in it.
  database.exec('PRAGMA journal_mode = MEMORY; PRAGMA synchronous = OFF');
  return {
    driver: 'node-sqlite3-wasm',
    exec: (sql) => {
      database.exec(sql);
    },
    // Its statements take their values as a list, and are finalized by hand.
    prepare: (sql) => {
      const statement = database.prepare(sql);
      return {
        get: (...values) => statement.get(values),
        run: (...values) => statement.run(values),
      };
    },
    close: () => {
      database.close();
    },
  };
}
