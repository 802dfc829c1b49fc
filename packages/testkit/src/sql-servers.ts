import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { chownSync, existsSync, mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createConnection } from 'mysql2/promise';
import pg from 'pg';
import { freePort } from './free-port.ts';
import { until } from './until.ts';

/** A database of one test file, on a free port of the loopback. */
export interface SqlServer {
  readonly url: string;
  query(statement: string): Promise<unknown>;
  kill(): Promise<void>;
  /** On the same port, with the same data. */
  restart(): Promise<void>;
  stop(): Promise<void>;
}

/** Where scripts/setup/test-tools.mjs unpacks it, too. */
const CACHE = fileURLToPath(new URL('../../../node_modules/.cache/sluice/', import.meta.url));
/** Neither runs as root. */
const asUser = process.getuid?.() === 0 ? { uid: 65534, gid: 65534 } : {};

const postgres = find('postgres', (root) => {
  const versions = join(root, 'usr/lib/postgresql');
  return existsSync(versions) ? readdirSync(versions).map((version) => join(versions, version, 'bin')) : [];
});
const mariadbd = find('mariadbd', (root) => [join(root, 'usr/sbin')]);

/** How each is started; undefined if this machine has none. */
export const sqlServers: Readonly<Record<'postgres' | 'mariadb', (() => Promise<SqlServer>) | undefined>> = {
  postgres: postgres === undefined ? undefined : () => startPostgres(dirname(postgres)),
  mariadb: mariadbd === undefined ? undefined : () => startMariadb(mariadbd),
};

function find(program: string, foldersIn: (root: string) => readonly string[]): string | undefined {
  const path = (process.env['PATH'] ?? '').split(delimiter);
  const folders = [...path, ...['/', join(CACHE, `${program}-package`)].flatMap(foldersIn)];
  const found = folders.map((folder) => join(folder, program)).find(existsSync);
  return found === undefined ? undefined : realpathSync(found); // in the PATH there may be a link to it, without the programs beside it
}

function emptyFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-sql-'));
  if (asUser.uid !== undefined) chownSync(folder, asUser.uid, asUser.gid);
  return folder;
}

async function startPostgres(programs: string): Promise<SqlServer> {
  const [folder, port] = [emptyFolder(), await freePort()];
  const data = join(folder, 'data');
  const made = spawnSync(join(programs, 'initdb'), ['-D', data, '-U', 'sluice', '-A', 'trust', '--no-sync'], {
    cwd: folder,
    encoding: 'utf8',
    ...asUser,
  });
  if (made.status !== 0) throw new Error(made.stderr);
  const settings = [`port=${String(port)}`, 'listen_addresses=127.0.0.1', `unix_socket_directories=${folder}`];
  const args = ['-D', data, ...[...settings, 'fsync=off'].flatMap((one) => ['-c', one])];
  const start = (): ChildProcess =>
    spawn(join(programs, 'postgres'), args, { cwd: folder, stdio: 'ignore', ...asUser });
  const url = `postgres://sluice@127.0.0.1:${String(port)}/postgres`;
  const query = async (statement: string): Promise<unknown> => {
    const client = new pg.Client({ connectionString: url });
    await client.connect();
    return client.query(statement).finally(() => client.end());
  };
  // SIGQUIT ends the processes of connections, too.
  return whenReady(url, query, () => query('select 1'), run(start, 'SIGQUIT', folder));
}

async function startMariadb(program: string): Promise<SqlServer> {
  const [folder, port] = [emptyFolder(), await freePort()];
  const base = resolve(program, '../..');
  const common = ['--no-defaults', `--basedir=${base}`, `--datadir=${folder}`, `--tmpdir=${folder}`];
  // Its own tables, of which that of procedures is one.
  const tables = readFileSync(join(base, 'share/mysql/mysql_system_tables.sql'), 'utf8');
  const input = `create database mysql;\nuse mysql;\n${tables}`;
  const made = spawnSync(program, [...common, '--bootstrap'], { cwd: folder, input, encoding: 'utf8', ...asUser });
  if (made.status !== 0) throw new Error(made.stderr);
  const args = [
    ...common,
    `--port=${String(port)}`,
    '--bind-address=127.0.0.1',
    `--socket=${join(folder, 'socket')}`,
    '--skip-grant-tables', // there are no users
    '--skip-networking=0',
    '--innodb-buffer-pool-size=16M',
  ];
  const start = (): ChildProcess => spawn(program, args, { cwd: folder, stdio: 'ignore', ...asUser });
  const withoutDatabase = `mysql://root@127.0.0.1:${String(port)}`;
  const url = `${withoutDatabase}/sluice`;
  const queryAt = async (uri: string, statement: string): Promise<unknown> => {
    const connection = await createConnection(uri);
    return connection.query(statement).finally(() => connection.end());
  };
  const query = (statement: string): Promise<unknown> => queryAt(url, statement);
  const ready = (): Promise<unknown> => queryAt(withoutDatabase, 'create database if not exists sluice');
  return whenReady(url, query, ready, run(start, 'SIGKILL', folder));
}

async function whenReady(
  url: string,
  query: SqlServer['query'],
  ready: () => Promise<unknown>,
  running: Running,
): Promise<SqlServer> {
  const wait = (): Promise<unknown> => until('the database answers', ready);
  const restart = async (): Promise<void> => {
    running.start();
    await wait();
  };
  try {
    await restart();
  } catch (error) {
    await running.stop();
    throw error;
  }
  return { url, query, kill: running.kill, stop: running.stop, restart };
}

interface Running {
  start(): void;
  readonly kill: () => Promise<void>;
  readonly stop: () => Promise<void>;
}

function run(start: () => ChildProcess, signal: NodeJS.Signals, folder: string): Running {
  let child: ChildProcess | undefined;
  let ended: Promise<unknown> | undefined;
  const kill = async (): Promise<void> => {
    child?.kill(signal);
    await ended;
  };
  return {
    start() {
      child = start();
      ended = once(child, 'exit');
    },
    kill,
    async stop() {
      await kill();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
