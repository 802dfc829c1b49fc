// Runs the tests of memberships and sources on a real registry as well, where `npm test` has a stub alone:
//
//   node scripts/matrix/registries.mjs consul [--record]     writes what the stub has to answer
//   node scripts/matrix/registries.mjs etcd
import { spawnSync } from 'node:child_process';
import { findConsul } from '../setup/find-consul.mjs';
import { findEtcd } from '../setup/find-etcd.mjs';

const REGISTRIES = {
  consul: {
    variable: 'CONSUL',
    find: findConsul,
    files: ['packages/testkit/test/consul', 'packages/split/test/consul', 'examples/consul-policies/test/real'],
  },
  etcd: { variable: 'ETCD', find: findEtcd, files: ['examples/registries/test/etcd'] },
};

const [name, ...options] = process.argv.slice(2);
const { variable, find, files } = REGISTRIES[name];
const recording = options.includes('--record') ? { SLUICE_RECORD: '1' } : {};
const env = { ...process.env, [variable]: find(), ...recording };
process.exit(spawnSync('node', ['scripts/test/test.mjs', ...files], { env, stdio: 'inherit' }).status ?? 1);
