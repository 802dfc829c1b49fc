// Runs the tests of memberships and sources on a real Consul as well, where `npm test` has a stub alone.
import { spawnSync } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { cache } from '../setup/cache.mjs';

const VERSION = '1.14.11';
const module = fileURLToPath(new URL('consul/', import.meta.url));
const GOS = ['go', '/usr/local/go/bin/go', '/usr/lib/go/bin/go'];
const FILES = ['packages/core/test/split/consul', 'examples/policy-sources/test/consul', 'examples/gateway'];

const env = { ...process.env, SLUICE_BUILT: '1', CONSUL: findConsul() };
process.exit(spawnSync('node', ['scripts/test/test.mjs', ...FILES], { env, stdio: 'inherit' }).status ?? 1);

/**
 * The path of a Consul: `CONSUL` of the environment, or the one that go builds of the module beside this file,
 * which takes a quarter of an hour, once. Nothing of it is in the repository.
 */
function findConsul() {
  const named = process.env['CONSUL'] ?? '';
  if (named !== '') return named;
  const folder = join(cache, 'consul', VERSION);
  const path = join(folder, 'consul');
  if (existsSync(path)) return path;
  const go = GOS.find((one) => spawnSync(one, ['version'], { stdio: 'ignore' }).status === 0);
  if (go === undefined) throw new Error('there is no Consul and no go to build one: set CONSUL to the path of one');
  mkdirSync(folder, { recursive: true });
  for (const file of ['go.mod', 'main.go']) copyFileSync(join(module, file), join(folder, file));
  console.error(`go builds Consul ${VERSION}: a quarter of an hour, once`);
  // Not -mod=readonly: the sums of a thousand modules are not in the repository. The checksum database checks them.
  const args = ['build', '-mod=mod', '-trimpath', '-ldflags', '-s -w', '-o', 'building', '.'];
  const { status } = spawnSync(go, args, { cwd: folder, stdio: ['ignore', 'inherit', 'inherit'] });
  if (status !== 0) throw new Error(`go cannot build Consul ${VERSION}`);
  renameSync(join(folder, 'building'), path);
  return path;
}
