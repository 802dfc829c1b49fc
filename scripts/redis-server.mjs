// Makes sure that there is a redis-server or valkey-server for the tests, without starting a service. Prints where it
// is.
//
// It looks at REDIS_SERVER, at the path, and at what it made itself before. Failing that it installs the package
// redis-tools (apt), which has no service: its
// redis-check-rdb is the server under another name, and acts as the server when it is called redis-server.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, rmSync, symlinkSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const cache = fileURLToPath(new URL('../node_modules/.cache/sluice/', import.meta.url));
const own = join(cache, 'redis-server');

const works = (path) => /server v=/.test(spawnSync(path, ['--version'], { encoding: 'utf8' }).stdout ?? '');
const onPath = (name) =>
  (process.env['PATH'] ?? '')
    .split(delimiter)
    .map((folder) => join(folder, name))
    .find((path) => existsSync(path));

function find() {
  const named = process.env['REDIS_SERVER'];
  if (named !== undefined && named !== '') {
    if (works(named)) return named;
    fail(`REDIS_SERVER is ${named}, which does not run as a Redis server.`);
  }
  return [onPath('redis-server'), onPath('valkey-server'), own].find(
    (path) => path !== undefined && existsSync(path) && works(path),
  );
}

function install() {
  if (onPath('apt-get') === undefined) return undefined;
  const root = process.getuid?.() === 0;
  if (!root && onPath('sudo') === undefined) return undefined;
  const apt = (...args) => {
    const command = root ? ['apt-get', ...args] : ['sudo', 'apt-get', ...args];
    console.log(`$ ${command.join(' ')}`);
    const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
    return spawnSync(command[0], command.slice(1), { stdio: ['inherit', 'ignore', 'inherit'], env }).status === 0;
  };
  if (!apt('update', '-qq') || !apt('install', '-y', '-qq', '--no-install-recommends', 'redis-tools')) return undefined;
  const tool = onPath('redis-check-rdb');
  if (tool === undefined) return undefined;
  mkdirSync(cache, { recursive: true });
  rmSync(own, { force: true });
  symlinkSync(tool, own);
  return works(own) ? own : undefined;
}

function fail(why) {
  console.error(
    `\n${why}\nThe tests run against a real Redis. Install redis-server (Debian, Ubuntu: apt-get install redis-server; macOS: brew install redis),` +
      '\nor set REDIS_SERVER to the path of a redis-server or valkey-server, 6.2 or later. It need not be running: the tests start their own.\n',
  );
  process.exit(1);
}

const server = find() ?? install();
if (server === undefined) fail('There is no redis-server or valkey-server on the path, and none could be installed.');
console.log(`Redis for the tests: ${server}`);
