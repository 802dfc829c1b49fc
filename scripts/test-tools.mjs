// Makes sure that the tests find what they need beside Node, without starting a service: a redis-server or valkey-server, and faketime, which starts
// processes whose clocks are wrong. What is missing is installed with apt-get, as root or with sudo, where there is such a thing.
//
// The package redis-tools has no service: its redis-check-rdb is the server under another name, and acts as the server when it is called redis-server.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, rmSync, symlinkSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const cache = fileURLToPath(new URL('../node_modules/.cache/sluice/', import.meta.url));
const linkedServer = join(cache, 'redis-server');

const onPath = (name) =>
  (process.env['PATH'] ?? '')
    .split(delimiter)
    .map((folder) => join(folder, name))
    .find((path) => existsSync(path));
/** Whether it is a server of version 7 or later: the tests ask it for instants of expiry, which older ones cannot tell. */
const isServer = (path) => {
  const version = /server v=(\d+)\./.exec(spawnSync(path, ['--version'], { encoding: 'utf8' }).stdout ?? '')?.[1];
  return version !== undefined && Number(version) >= 7;
};

const tools = [
  {
    package: 'redis-tools',
    find() {
      const named = process.env['REDIS_SERVER'] ?? '';
      if (named !== '' && !isServer(named))
        fail(`REDIS_SERVER is ${named}, which does not run as a Redis server of version 7 or later.`);
      if (named !== '') return named;
      const candidates = [onPath('redis-server'), onPath('valkey-server'), linkedServer];
      return candidates.find((path) => path !== undefined && existsSync(path) && isServer(path)) ?? this.link();
    },
    link() {
      const tool = onPath('redis-check-rdb');
      if (tool === undefined) return undefined;
      mkdirSync(cache, { recursive: true });
      rmSync(linkedServer, { force: true });
      symlinkSync(tool, linkedServer);
      return isServer(linkedServer) ? linkedServer : undefined;
    },
    help:
      'The tests run against a real Redis. Install redis-server (Debian, Ubuntu: apt-get install redis-server; macOS: brew install redis), or set\n' +
      'REDIS_SERVER to the path of a redis-server or valkey-server, 7.0 or later. It need not be running: the tests start their own.',
  },
  {
    package: 'faketime',
    find: () => onPath('faketime'),
    help: 'The tests start processes whose clocks are an hour off. Install faketime (Debian, Ubuntu: apt-get install faketime; macOS: brew install libfaketime).',
  },
];

const missing = tools.filter((tool) => tool.find() === undefined);
if (missing.length > 0) {
  install(missing.map((tool) => tool.package));
  const still = missing.filter((tool) => tool.find() === undefined);
  if (still.length > 0)
    fail(`Not found, and not to be installed from here: ${still.map((tool) => tool.package).join(', ')}.`, still);
}
console.log(`Redis for the tests: ${tools[0].find()}`);

function install(packages) {
  if (onPath('apt-get') === undefined) return;
  const isRoot = process.getuid?.() === 0;
  if (!isRoot && onPath('sudo') === undefined) return;
  const apt = (...args) => {
    const command = isRoot ? ['apt-get', ...args] : ['sudo', 'DEBIAN_FRONTEND=noninteractive', 'apt-get', ...args];
    console.log(`$ ${command.join(' ')}`);
    const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
    return spawnSync(command[0], command.slice(1), { stdio: ['inherit', 'ignore', 'inherit'], env }).status === 0;
  };
  if (apt('update', '-qq')) apt('install', '-y', '-qq', '--no-install-recommends', ...packages);
}

function fail(why, affected = tools.slice(0, 1)) {
  console.error(`\n${why}\n${affected.map((tool) => tool.help).join('\n')}\n`);
  process.exit(1);
}
