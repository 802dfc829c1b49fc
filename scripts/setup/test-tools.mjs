// Makes sure that the tests find the programs that they need beside Node, without starting a service. A missing program
// is installed with apt-get, as root or with sudo, where apt-get exists. Packages with services, which start when they
// are installed, are unpacked into node_modules instead. Without a database its tests are left out; all others are
// required. None of them need be running: the tests start their own.
//
//   node scripts/setup/test-tools.mjs             those of the tests
//   node scripts/setup/test-tools.mjs chromium    this one, whose path it prints last
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, rmSync, symlinkSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { cache } from './cache.mjs';

const output = (command, ...args) => spawnSync(command, args, { encoding: 'utf8' }).stdout ?? '';
const runs = (path, ...args) => spawnSync(path, args).status === 0;
const onPath = (name) =>
  (process.env['PATH'] ?? '')
    .split(delimiter)
    .map((folder) => join(folder, name))
    .find((path) => existsSync(path));

/** By name of the program; the variable of its name in capitals, with `_` for `-`, is the path of another one. */
const TOOLS = {
  'redis-server': {
    names: ['redis-server', 'valkey-server'],
    // A package without a service, whose program is the server when its file is named so.
    packages: ['redis-tools'],
    places: () => ['usr/bin/redis-check-rdb'],
    /** Older ones do not report instants of expiry, which the tests read. */
    isGood: (path) => Number(/server v=(\d+)\./.exec(output(path, '--version'))?.[1]) >= 7,
    brew: 'redis, 7.0 or later',
  },
  faketime: { packages: ['faketime'], isGood: existsSync, brew: 'libfaketime' },
  // The program without the service, which is in the package dnsmasq.
  dnsmasq: { packages: ['dnsmasq-base'] },
  // On some releases of Ubuntu the program is in nginx-core.
  nginx: { packages: ['nginx', 'nginx-core'], hasService: true, isGood: (path) => runs(path, '-v') },
  caddy: { packages: ['caddy'], hasService: true, isGood: (path) => runs(path, 'version') },
  haproxy: { packages: ['haproxy'], hasService: true, isGood: (path) => runs(path, '-v') },
  postgres: {
    // The package postgresql depends on that of a version.
    packages: () => [/postgresql-\d+/.exec(output('apt-cache', 'depends', 'postgresql'))?.[0] ?? 'postgresql'],
    places(root) {
      const versions = join(root, 'usr/lib/postgresql');
      const found = existsSync(versions) ? readdirSync(versions) : [];
      return found.map((version) => `usr/lib/postgresql/${version}/bin/postgres`);
    },
    hasService: true,
    isOptional: true,
    brew: 'postgresql',
  },
  mariadbd: { packages: ['mariadb-server-core'], hasService: true, isOptional: true, brew: 'mariadb' },
  etcd: { packages: ['etcd-server'], hasService: true, isOptional: true },
  // Ubuntu's is a snap, which does not start in a container: its runners have Chrome.
  chromium: {
    names: ['chromium', 'chromium-browser', 'google-chrome'],
    packages: ['chromium'],
    isOnlyByName: true,
  },
};

const named = process.argv[2];
const tools = Object.entries(TOOLS)
  .map(([name, tool]) => ({ name, ...tool }))
  .filter(({ name, isOnlyByName }) => (named === undefined ? !isOnlyByName : name === named));
let missing = tools.filter((tool) => find(tool) === undefined);
if (missing.length > 0) {
  install(missing);
  missing = missing.filter((tool) => find(tool) === undefined);
}
for (const { name, packages, brew = name, isOptional } of missing) {
  const debian = typeof packages === 'function' ? packages() : packages;
  const how = `Debian, Ubuntu: apt-get install ${debian[0]}; macOS: brew install ${brew}`;
  const named = process.env[variableOf(name)];
  if (named) console.error(`${variableOf(name)} is ${named}, which does not run as a ${name} that the tests can use.`);
  console.error(
    `There is no ${name}${isOptional ? ': its tests are left out' : ''}. Install it (${how}), or set ${variableOf(name)}.`,
  );
}
if (missing.some(({ isOptional }) => !isOptional)) process.exit(1);
console.log(named === undefined ? `Redis for the tests: ${find(tools[0])}` : find(tools[0]));

function variableOf(name) {
  return name.toUpperCase().replaceAll('-', '_');
}

function find({ name, names = [name], isGood = (path) => runs(path, '--version'), ...tool }) {
  const named = process.env[variableOf(name)] ?? '';
  const isThere = (path) => path !== undefined && existsSync(path) && isGood(path);
  if (named !== '') return isThere(named) ? named : undefined;
  const linked = join(cache, name);
  const found = [...names.map(onPath), `/usr/sbin/${name}`, linked].find(isThere);
  if (found !== undefined) return found;
  const { places = () => [`usr/sbin/${name}`, `usr/bin/${name}`] } = tool;
  const roots = ['/', join(cache, `${name}-package`)];
  const place = roots.flatMap((root) => places(root).map((path) => join(root, path))).find(existsSync);
  if (place === undefined) return undefined;
  mkdirSync(cache, { recursive: true });
  rmSync(linked, { force: true });
  symlinkSync(place, linked);
  return isThere(linked) ? linked : undefined;
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
  const packages = wanted.flatMap((tool) => (tool.hasService ? unpack(tool) : tool.packages));
  if (packages.length > 0) apt('install', '-y', '-qq', '--no-install-recommends', '--no-upgrade', ...packages);
}

/** Downloads packages of Debian, and unpacks them into a folder of the cache. Returns the libraries that are missing. */
function unpack(tool) {
  const folder = join(cache, `${tool.name}-package`);
  const packages = typeof tool.packages === 'function' ? tool.packages() : tool.packages;
  console.log(`$ apt-get download ${packages.join(' ')}, unpacked into ${folder}`);
  mkdirSync(folder, { recursive: true });
  for (const one of packages) spawnSync('apt-get', ['download', '-qq', one], { cwd: folder });
  const files = readdirSync(folder).filter((entry) => entry.endsWith('.deb'));
  for (const file of files) spawnSync('dpkg-deb', ['-x', file, folder], { cwd: folder });
  if (find(tool) !== undefined) return [];
  // Postgres needs LLVM only to compile queries.
  return files.flatMap((file) => {
    const depends = output('dpkg-deb', '-f', join(folder, file), 'Depends');
    return depends.match(/\blib(?!nginx|llvm)[\w.+-]+/g) ?? [];
  });
}
