// Makes sure that the tests find the programs that they need beside Node, without starting a service: a redis-server or
// valkey-server, the gateways nginx, Caddy and HAProxy, dnsmasq, Postgres, MariaDB and etcd, and faketime, which starts
// processes whose clocks are wrong. A missing program is installed with apt-get, as root or with sudo, where apt-get
// exists. Without a database its tests are left out; all others are required.
//
// The package redis-tools has no service: its redis-check-rdb is the same program as the server, and acts as the server
// when its file is named redis-server. The packages of the gateways and databases have services, which start when the
// package is installed: they are unpacked into node_modules instead.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, rmSync, symlinkSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { cache, unpackPackages } from './unpack-packages.mjs';

const linkedServer = join(cache, 'redis-server');

const onPath = (name) =>
  (process.env['PATH'] ?? '')
    .split(delimiter)
    .map((folder) => join(folder, name))
    .find((path) => existsSync(path));
const runs = (path, ...args) => spawnSync(path, args).status === 0;
/** Whether it is a server of version 7 or later: older ones do not report instants of expiry, which the tests read. */
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
  {
    // The program without the service, which is in the package dnsmasq.
    package: 'dnsmasq-base',
    find() {
      const named = process.env['DNSMASQ'] ?? '';
      const candidates = named === '' ? [onPath('dnsmasq'), '/usr/sbin/dnsmasq'] : [named];
      return candidates.find((path) => path !== undefined && runs(path, '--version'));
    },
    help:
      'Memberships by DNS ask dnsmasq. Install it (Debian, Ubuntu: apt-get install dnsmasq-base; macOS: brew install dnsmasq), or set DNSMASQ to the\n' +
      'path of one. It need not be running: the tests start their own.',
  },
  gateway({
    name: 'nginx',
    // The program is in the package nginx on Debian, in nginx-core on some releases of Ubuntu.
    packages: ['nginx', 'nginx-core'],
    program: 'usr/sbin/nginx',
    version: '-v',
    help: 'Debian, Ubuntu: apt-get install nginx; macOS: brew install nginx',
  }),
  gateway({
    name: 'caddy',
    packages: ['caddy'],
    program: 'usr/bin/caddy',
    version: 'version',
    help: 'Debian, Ubuntu: apt-get install caddy; macOS: brew install caddy',
  }),
  gateway({
    name: 'haproxy',
    packages: ['haproxy'],
    program: 'usr/sbin/haproxy',
    version: '-v',
    help: 'Debian, Ubuntu: apt-get install haproxy; macOS: brew install haproxy',
  }),
  database({
    program: 'postgres',
    folders(root) {
      const versions = join(root, 'usr/lib/postgresql');
      return existsSync(versions) ? readdirSync(versions).map((version) => join(versions, version, 'bin')) : [];
    },
    // The package postgresql depends on that of a version.
    findPackage() {
      const { stdout } = spawnSync('apt-cache', ['depends', 'postgresql'], { encoding: 'utf8' });
      return /postgresql-\d+/.exec(stdout ?? '')?.[0];
    },
    help: 'Debian, Ubuntu: apt-get install postgresql; macOS: brew install postgresql',
  }),
  database({
    program: 'mariadbd',
    folders: (root) => [join(root, 'usr/sbin')],
    findPackage: () => 'mariadb-server-core',
    help: 'Debian, Ubuntu: apt-get install mariadb-server; macOS: brew install mariadb',
  }),
  database({
    program: 'etcd',
    folders: (root) => [join(root, 'usr/bin')],
    findPackage: () => 'etcd-server',
    help: 'Debian, Ubuntu: apt-get install etcd-server; macOS: brew install etcd',
  }),
];

const missing = tools.filter((tool) => tool.find() === undefined);
if (missing.length > 0) {
  install(missing);
  const still = missing.filter((tool) => tool.find() === undefined);
  const required = still.filter((tool) => !tool.isOptional);
  if (required.length > 0)
    fail(`Not found, and not to be installed from here: ${required.map((tool) => tool.package).join(', ')}.`, required);
  for (const { help } of still) console.log(help);
}
console.log(`Redis for the tests: ${tools[0].find()}`);

/** A program whose package has a service. Only the libraries that it needs are installed. */
function gateway({ name, packages, program, version, help }) {
  const variable = name.toUpperCase();
  const linked = join(cache, name);
  return {
    package: name,
    libraries: [],
    find() {
      const named = process.env[variable] ?? '';
      const candidates = named === '' ? [onPath(name), `/usr/sbin/${name}`, linked] : [named];
      return candidates.find((path) => path !== undefined && runs(path, version));
    },
    unpack() {
      const unpacked = join(
        unpackPackages(`${name}-package`, packages, (depends, folder) => {
          if (!runs(join(folder, program), version))
            this.libraries.push(...(depends.match(/\blib(?!nginx)[\w.+-]+/g) ?? []));
        }),
        program,
      );
      if (!existsSync(unpacked)) return;
      rmSync(linked, { force: true });
      symlinkSync(unpacked, linked);
    },
    help: `The examples of gateways run behind ${name}. Install it (${help}), or set ${variable} to the path of one. It need not be running: the tests start their own.`,
  };
}

/** A database whose package has a service. It is found in the PATH, in a folder of the machine, or unpacked. */
function database({ program, folders, findPackage, help }) {
  const unpacked = join(cache, `${program}-package`);
  return {
    package: program,
    isOptional: true,
    libraries: [],
    find: () =>
      [onPath(program), ...['/', unpacked].flatMap(folders).map((folder) => join(folder, program))].find(
        (path) => path !== undefined && existsSync(path) && runs(path, '--version'),
      ),
    unpack() {
      const found = findPackage();
      if (found === undefined) return;
      unpackPackages(`${program}-package`, [found], (depends) => {
        // Postgres needs LLVM only to compile queries.
        if (this.find() === undefined) this.libraries.push(...(depends.match(/\blib(?!llvm)[\w.+-]+/g) ?? []));
      });
    },
    help: `The tests with ${program} are left out: there is none. Install it (${help}). It need not be running: the tests start their own.`,
  };
}

function install(wanted) {
  if (onPath('apt-get') === undefined) return;
  const isRoot = process.getuid?.() === 0;
  if (!isRoot && onPath('sudo') === undefined) return;
  const apt = (...args) => {
    const command = isRoot ? ['apt-get', ...args] : ['sudo', 'DEBIAN_FRONTEND=noninteractive', 'apt-get', ...args];
    console.log(`$ ${command.join(' ')}`);
    const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
    return spawnSync(command[0], command.slice(1), { stdio: ['inherit', 'ignore', 'inherit'], env }).status === 0;
  };
  if (!apt('update', '-qq')) return;
  for (const tool of wanted) tool.unpack?.();
  const packages = new Set(wanted.flatMap((tool) => tool.libraries ?? [tool.package]));
  if (packages.size > 0) apt('install', '-y', '-qq', '--no-install-recommends', '--no-upgrade', ...packages);
}

function fail(why, affected = tools.slice(0, 1)) {
  console.error(`\n${why}\n${affected.map((tool) => tool.help).join('\n')}\n`);
  process.exit(1);
}
