// Runs the tests of policies in a database against a real Postgres and a real MariaDB, beside the stubs of `npm test`, and
// compares what both answer. The servers are those of the PATH, or Debian's, unpacked into node_modules/.cache; their
// clients, pg and mysql2, are installed there.
import { spawn, spawnSync } from 'node:child_process';
import { chownSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../..', import.meta.url));
const cache = join(root, 'node_modules/.cache/sluice/sql');
const CLIENTS = ['pg@8.23.1', 'mysql2@3.24.6'];
/** A user without rights: the servers do not run as root. */
const USER = 65534;
const isRoot = process.getuid?.() === 0;

function run(command, args, options = {}) {
  const { status, stdout, stderr } = spawnSync(command, args, { encoding: 'utf8', ...options });
  if (status !== 0) throw new Error(`${command} ${args.join(' ')}: ${stderr || stdout}`);
  return stdout;
}

/** Programs of a package of Debian: those that are installed, or unpacked without their service. */
function find(programs, packages, folders) {
  const unpacked = join(cache, packages[0]);
  const places = [
    ...(process.env['PATH'] ?? '').split(delimiter),
    ...folders.flatMap((one) => [one, join(unpacked, one)]),
  ];
  const found = () => programs.map((name) => places.map((place) => join(place, name)).find(existsSync));
  if (found().includes(undefined)) {
    mkdirSync(unpacked, { recursive: true });
    run('apt-get', ['download', '-qq', ...packages], { cwd: unpacked });
    for (const file of readdirSync(unpacked).filter((name) => name.endsWith('.deb'))) {
      run('dpkg-deb', ['-x', file, '.'], { cwd: unpacked });
    }
  }
  return { programs: found(), unpacked };
}

async function freePort() {
  const server = createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const { port } = server.address();
  await new Promise((resolve) => server.close(resolve));
  return port;
}

const started = [];
const folders = [];

function folderFor(name) {
  const folder = mkdtempSync(join(tmpdir(), `sluice-${name}-`));
  if (isRoot) chownSync(folder, USER, USER);
  folders.push(folder);
  return folder;
}

function start(command, args, env = {}) {
  const user = isRoot ? { uid: USER, gid: USER } : {};
  const child = spawn(command, args, {
    stdio: 'ignore',
    env: { ...process.env, ...env },
    ...user,
  });
  started.push(child);
  return child;
}

async function untilReady(name, child, isReady) {
  for (let i = 0; i < 300; i++) {
    if (child.exitCode !== null) throw new Error(`${name} ended with ${String(child.exitCode)}`);
    if (await isReady()) return;
    await sleep(100);
  }
  throw new Error(`${name} was not ready within 30 s`);
}

async function startPostgres(connect) {
  const versions = existsSync('/usr/lib/postgresql') ? readdirSync('/usr/lib/postgresql') : ['15'];
  const bins = versions.map((version) => `/usr/lib/postgresql/${version}/bin`);
  const { programs } = find(['initdb', 'postgres'], ['postgresql-15'], bins);
  const [initdb, postgres] = programs;
  const data = folderFor('postgres');
  const user = isRoot ? { uid: USER, gid: USER } : {};
  run(initdb, ['-D', join(data, 'data'), '-U', 'sluice', '-A', 'trust', '--no-sync'], { cwd: data, ...user });
  const port = await freePort();
  const settings = [`port=${port}`, 'listen_addresses=127.0.0.1', `unix_socket_directories=${data}`, 'fsync=off'];
  const child = start(postgres, ['-D', join(data, 'data'), ...settings.flatMap((one) => ['-c', one])]);
  const url = `postgres://sluice@127.0.0.1:${port}/postgres`;
  await untilReady('Postgres', child, () => connect.postgres(url));
  return url;
}

async function startMariadb(connect) {
  const packages = ['mariadb-server-core', 'libaio1', 'libnuma1', 'liburing2'];
  const { programs, unpacked } = find(['mariadbd'], packages, ['/usr/sbin', 'usr/sbin']);
  const [mariadbd] = programs;
  const share = mariadbd.startsWith(unpacked) ? join(unpacked, 'usr/share/mysql') : '/usr/share/mysql';
  const libraries = { LD_LIBRARY_PATH: join(unpacked, 'usr/lib/x86_64-linux-gnu') };
  const data = folderFor('mariadb');
  const port = await freePort();
  const common = [
    '--no-defaults',
    `--datadir=${data}`,
    `--lc-messages-dir=${share}`,
    `--character-sets-dir=${join(share, 'charsets')}`,
  ];
  // Procedures need the tables of the system.
  const user = isRoot ? { uid: USER, gid: USER } : {};
  const tables = readFileSync(join(share, 'mysql_system_tables.sql'), 'utf8');
  const input = `create database mysql;\nuse mysql;\n${tables}`;
  run(mariadbd, [...common, '--bootstrap'], { input, env: { ...process.env, ...libraries }, ...user });
  const child = start(
    mariadbd,
    [
      ...common,
      `--port=${port}`,
      '--bind-address=127.0.0.1',
      `--socket=${join(data, 's')}`,
      '--skip-grant-tables',
      '--skip-networking=0',
      '--innodb-buffer-pool-size=16M',
      '--tmpdir=' + data,
    ],
    libraries,
  );
  const url = `mysql://root@127.0.0.1:${port}`;
  await untilReady('MariaDB', child, () => connect.mysql(url));
  return `${url}/sluice`;
}

mkdirSync(cache, { recursive: true });
run('npm', ['install', '--no-save', '--silent', '--no-audit', '--no-fund', '--prefix', cache, ...CLIENTS]);
const { default: pg } = await import(join(cache, 'node_modules/pg/lib/index.js'));
const { createConnection } = await import(join(cache, 'node_modules/mysql2/promise.js'));
const connect = {
  async postgres(connectionString) {
    const client = new pg.Client({ connectionString });
    try {
      await client.connect();
      await client.end();
      return true;
    } catch {
      return false;
    }
  },
  async mysql(uri) {
    try {
      const client = await createConnection({ uri });
      await client.query('create database if not exists sluice');
      await client.end();
      return true;
    } catch {
      return false;
    }
  },
};

try {
  const [postgres, mysql] = [await startPostgres(connect), await startMariadb(connect)];
  const env = { ...process.env, SLUICE_SQL: JSON.stringify({ modules: cache, postgres, mysql }) };
  const args = ['scripts/test/test.mjs', '--one', 'packages/managed/test/sql', ...process.argv.slice(2)];
  process.exitCode = spawnSync(process.execPath, args, { cwd: root, stdio: 'inherit', env }).status ?? 1;
} finally {
  for (const child of started) child.kill('SIGKILL');
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
}
