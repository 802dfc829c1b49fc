import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { cache, unpackPackages } from './unpack-packages.mjs';

/** The path of an etcd: `ETCD` of the environment, one of the PATH, or Debian's, which is unpacked into the cache. */
export function findEtcd() {
  const runs = (path) => spawnSync(path, ['--version']).status === 0;
  const unpacked = join(cache, 'etcd-package/usr/bin/etcd');
  const named = process.env['ETCD'] ?? '';
  const found = (named === '' ? ['etcd', unpacked] : [named]).find(runs);
  if (found !== undefined) return found;
  unpackPackages('etcd-package', ['etcd-server']);
  if (runs(unpacked)) return unpacked;
  throw new Error('there is no etcd: install etcd-server, or set ETCD to the path of one');
}
