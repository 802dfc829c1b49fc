import { spawnSync } from 'node:child_process';
import { chownSync, readFileSync, realpathSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { createConnection } from 'mysql2/promise';
import pg from 'pg';
import { freePort } from './free-port.ts';
import { findProgram, newFolder, startProgram, type RunningProgram } from './program.ts';

/** A database for one test file, on a free loopback port. */
export interface SqlServer extends Omit<RunningProgram, 'pid'> {
  readonly url: string;
  query(statement: string): Promise<unknown>;
}

/** Neither runs as root. */
const asUser = process.getuid?.() === 0 ? { uid: 65534, gid: 65534 } : {};

const postgres = findProgram('postgres');
const mariadbd = findProgram('mariadbd');

/** How each is started; undefined if this machine has none. */
export const sqlServers: Readonly<Record<'postgres' | 'mariadb', (() => Promise<SqlServer>) | undefined>> = {
  // If this is a link, the files that belong to the program are not next to the link.
  postgres: postgres === undefined ? undefined : () => startPostgres(realpathSync(postgres)),
  mariadb: mariadbd === undefined ? undefined : () => startMariadb(realpathSync(mariadbd)),
};

async function startPostgres(path: string): Promise<SqlServer> {
  const [folder, port] = [emptyFolder(), await freePort()];
  const data = join(folder, 'data');
  prepare(folder, join(dirname(path), 'initdb'), ['-D', data, '-U', 'sluice', '-A', 'trust', '--no-sync']);
  const settings = [`port=${String(port)}`, 'listen_addresses=127.0.0.1', `unix_socket_directories=${folder}`];
  const args = ['-D', data, ...[...settings, 'fsync=off'].flatMap((one) => ['-c', one])];
  const url = `postgres://sluice@127.0.0.1:${String(port)}/postgres`;
  const query = async (statement: string): Promise<unknown> => {
    const client = new pg.Client({ connectionString: url });
    await client.connect();
    return client.query(statement).finally(() => client.end());
  };
  // SIGQUIT also ends the processes of connections.
  const options = { folder, cwd: folder, endsBy: 'SIGQUIT', ...asUser } as const;
  return { url, query, ...(await startProgram(path, args, () => query('select 1'), options)) };
}

async function startMariadb(path: string): Promise<SqlServer> {
  const [folder, port] = [emptyFolder(), await freePort()];
  const base = resolve(path, '../..');
  const common = ['--no-defaults', `--basedir=${base}`, `--datadir=${folder}`, `--tmpdir=${folder}`];
  // Its own tables, including the one for procedures.
  const tables = readFileSync(join(base, 'share/mysql/mysql_system_tables.sql'), 'utf8');
  prepare(folder, path, [...common, '--bootstrap'], `create database mysql;\nuse mysql;\n${tables}`);
  const args = [
    ...common,
    `--port=${String(port)}`,
    '--bind-address=127.0.0.1',
    `--socket=${join(folder, 'socket')}`,
    '--skip-grant-tables', // there are no users
    '--skip-networking=0',
    '--innodb-buffer-pool-size=16M',
  ];
  const withoutDatabase = `mysql://root@127.0.0.1:${String(port)}`;
  const url = `${withoutDatabase}/sluice`;
  const queryAt = async (uri: string, statement: string): Promise<unknown> => {
    const connection = await createConnection(uri);
    return connection.query(statement).finally(() => connection.end());
  };
  const query = (statement: string): Promise<unknown> => queryAt(url, statement);
  const ready = (): Promise<unknown> => queryAt(withoutDatabase, 'create database if not exists sluice');
  return { url, query, ...(await startProgram(path, args, ready, { folder, cwd: folder, ...asUser })) };
}

function emptyFolder(): string {
  const folder = newFolder('sql');
  if (asUser.uid !== undefined) chownSync(folder, asUser.uid, asUser.gid);
  return folder;
}

function prepare(cwd: string, path: string, args: readonly string[], input = ''): void {
  const { status, stderr } = spawnSync(path, args, { cwd, input, encoding: 'utf8', ...asUser });
  if (status !== 0) throw new Error(stderr);
}
