// Runs the tests of memberships and sources on a real Consul as well, where `npm test` has a stub alone:
//
//   node scripts/real/consul.mjs [--record]     writes what the stub has to answer
import { spawnSync } from 'node:child_process';
import { findConsul } from '../setup/find-consul.mjs';

const FILES = ['packages/testkit/test/consul', 'packages/core/test/split/consul', 'examples/consul-policies'];

const recording = process.argv.includes('--record') ? { SLUICE_RECORD: '1' } : {};
const env = { ...process.env, SLUICE_BUILT: '1', CONSUL: findConsul(), ...recording };
process.exit(spawnSync('node', ['scripts/test/test.mjs', ...FILES], { env, stdio: 'inherit' }).status ?? 1);
