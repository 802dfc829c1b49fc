// What does a call of the service cost, beside envoyproxy/ratelimit, which go builds here where it is there?
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
// Not by its name: the package's index imports jest.
import { freePort } from '../../testkit/dist/free-port.js';
import { startProgram } from '../../testkit/dist/program.js';
import { open } from '../../testkit/dist/raw-http.js';
import { heldTo, inTurn, MEASURED, OTHER, startChild, toRow } from './in-turn.mjs';
import { measured, startServer } from './redis.mjs';

const SLUICE = fileURLToPath(new URL('../../cli/dist/main.js', import.meta.url));
/** It has no releases: a commit, as go writes it. */
const RATELIMIT = 'v1.4.1-0.20260122083618-3fb702589d36';
const cache = fileURLToPath(new URL(`../../../node_modules/.cache/sluice/ratelimit/${RATELIMIT}/`, import.meta.url));
/** The same file for both; the load asks for the domain and the key that it names. */
const LIMITS = `
domain: many
descriptors:
  - key: user
    rate_limit: { unit: hour, requests_per_unit: 1000000000 }
`;
/** As the guide to the service runs it. */
const FLAGS = ['--max-semi-space-size=4'];
/** Linux counts the CPU time of processes in hundredths of a second. */
const TICK_US = 10_000;
const PAGE_MIB = 4096 / 1_048_576;

/** By name: the command of a service, and its environment. */
const contenders = {
  sluice: ({ grpc, folder, url }) => {
    const options = ['--config', join(folder, 'config/limits.yaml'), '--redis', url, '--timeout', '1s'];
    const listeners = ['--grpc', String(grpc), '--http', 'off', '--admin', 'off'];
    return { command: [process.execPath, ...FLAGS, SLUICE, 'serve', ...options, ...listeners] };
  },
  'envoyproxy/ratelimit': ({ grpc, http, debug, folder, url }) => ({
    command: [join(cache, 'service_cmd')],
    env: {
      // It counts nothing, which is the cheapest; ours always counts.
      ...{ GOMAXPROCS: '1', LOG_LEVEL: 'error', USE_STATSD: 'false', DISABLE_STATS: 'true' },
      ...{ RUNTIME_ROOT: folder, RUNTIME_SUBDIRECTORY: '.', RUNTIME_WATCH_ROOT: 'false' },
      ...{ REDIS_SOCKET_TYPE: 'tcp', REDIS_URL: new URL(url).host },
      ...{ HOST: '127.0.0.1', GRPC_HOST: '127.0.0.1', DEBUG_HOST: '127.0.0.1' },
      ...{ PORT: String(http), GRPC_PORT: String(grpc), DEBUG_PORT: String(debug) },
    },
  }),
};

export async function measureService({ generations, rounds, sliceMs, rates, builds, log }) {
  const names = Object.keys(contenders).filter((name) => name !== 'envoyproxy/ratelimit' || isBuilt(builds));
  const redis = await startServer();
  const load = await startChild('grpc-load.mjs', {}, { core: OTHER });
  const rows = [];
  try {
    for (const perSecond of rates) {
      log(`service, ${perSecond} calls a second`);
      const seen = await inTurn(names, { generations, rounds }, async (name) => {
        const { port, pid, end } = await startService(name, redis.url);
        const ask = () => load.ask('slice', { port, perSecond, ms: 3 * sliceMs });
        const slice = async () => {
          const figures = await measured(redis.admin, ask, () => usageOf(pid));
          return { ...figures, perCpuSecond: 1e6 / figures.cpuUs, rssMiB: usageOf(pid).rssMiB };
        };
        return { slice, warm: ask, end };
      });
      for (const name of names) rows.push(toRow({ scene: perSecond, name }, seen.get(name)));
    }
  } finally {
    await load.end();
    await redis.end();
  }
  return rows;
}

/** The process is the service's: `taskset` becomes the program that it starts. */
async function startService(name, url) {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-bench-'));
  mkdirSync(join(folder, 'config'));
  writeFileSync(join(folder, 'config/limits.yaml'), LIMITS);
  const [grpc, http, debug] = [await freePort(), await freePort(), await freePort()];
  const { command, env } = contenders[name]({ grpc, http, debug, folder, url });
  const [program, ...args] = heldTo(MEASURED, command);
  const isReady = async () => (await open(grpc)).destroy();
  const { pid, kill } = await startProgram(program, args, isReady, {
    env: { PATH: process.env.PATH, HOME: process.env.HOME, NODE_ENV: 'production', ...env },
  });
  const end = async () => {
    await kill();
    rmSync(folder, { recursive: true });
  };
  return { port: grpc, pid, end };
}

function usageOf(pid) {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1].split(' ');
  const [user, system, residentPages] = [fields[11], fields[12], fields[21]].map(Number);
  return { cpuUs: (user + system) * TICK_US, rssMiB: residentPages * PAGE_MIB };
}

/** Whether envoyproxy/ratelimit is there, once go has built it if it is to and can. */
function isBuilt(builds) {
  if (existsSync(join(cache, 'service_cmd'))) return true;
  if (!builds) return false;
  mkdirSync(cache, { recursive: true });
  const env = { ...process.env, GOBIN: cache, PATH: `${process.env.PATH}:/usr/local/go/bin` };
  const program = `github.com/envoyproxy/ratelimit/src/service_cmd@${RATELIMIT}`;
  return spawnSync('go', ['install', program], { env, stdio: ['ignore', 'inherit', 'inherit'] }).status === 0;
}
