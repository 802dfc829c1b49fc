import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { heldTo, MEASURED } from '../processes/cores.mjs';
import { freePort } from '../../../testkit/dist/free-port.js';

const SLUICE = fileURLToPath(new URL('../../../cli/dist/main.js', import.meta.url));
const BARE = fileURLToPath(new URL('bare-http2.mjs', import.meta.url));
/** As the guide to the service runs it. */
const FLAGS = ['--max-semi-space-size=4'];
const DOMAIN = 'many';
/** The same file for both. The load generator's single descriptor has this key. */
const LIMITS = `
domain: ${DOMAIN}
descriptors:
  - key: rule-0
    rate_limit: { unit: hour, requests_per_unit: 1000000000 }
`;
/** Linux counts the CPU time of processes in hundredths of a second. */
const TICK_US = 10_000;
const PAGE_MIB = 4096 / 1_048_576;
const DEADLINE_MS = 30_000;

/** A running service: `port`, `domain`, `usage()` and `end()`. */
export async function startOurs(name, redisUrl) {
  const folder = newFolder();
  const port = await freePort();
  const config = join(folder, 'limits.yaml');
  writeFileSync(config, LIMITS);
  // It waits for Redis as the other one does, rather than decide in memory.
  const listeners = ['--grpc', String(port), '--http', 'off', '--admin', 'off'];
  const options = ['serve', '--config', config, '--redis', redisUrl, '--timeout', '1s', ...listeners];
  return start(name, folder, port, heldTo(MEASURED, { flags: FLAGS }), [SLUICE, ...options], {});
}

/** A server of node:http2 that decides nothing. */
export async function startBare(name) {
  const port = await freePort();
  // What `sluice serve` sets for itself.
  const flags = [...FLAGS, '--no-allocation-site-pretenuring', '--heap-growing-percent=40'];
  return start(name, newFolder(), port, heldTo(MEASURED, { flags }), [BARE, String(port)], {});
}

/** @param settings - Of its environment, beside those that it needs here. */
export async function startTheirs(name, path, redisUrl, settings = {}) {
  const folder = newFolder();
  const [port, http, debug] = [await freePort(), await freePort(), await freePort()];
  const config = join(folder, 'ratelimit/config');
  mkdirSync(config, { recursive: true });
  writeFileSync(join(config, 'limits.yaml'), LIMITS);
  return start(name, folder, port, heldTo(MEASURED, { node: path }), [], {
    // It counts nothing, which is the cheapest; ours always counts.
    ...{ GOMAXPROCS: '1', LOG_LEVEL: 'error', USE_STATSD: 'false', DISABLE_STATS: 'true' },
    ...{ RUNTIME_ROOT: folder, RUNTIME_SUBDIRECTORY: 'ratelimit', RUNTIME_WATCH_ROOT: 'false' },
    ...{ REDIS_SOCKET_TYPE: 'tcp', REDIS_URL: new URL(redisUrl).host },
    ...{ HOST: '127.0.0.1', GRPC_HOST: '127.0.0.1', DEBUG_HOST: '127.0.0.1' },
    ...{ PORT: String(http), GRPC_PORT: String(port), DEBUG_PORT: String(debug) },
    ...settings,
  });
}

function newFolder() {
  return mkdtempSync(join(tmpdir(), 'sluice-beside-'));
}

async function start(name, folder, port, { execPath, execArgv }, args, settings) {
  const env = { PATH: process.env.PATH, HOME: process.env.HOME, NODE_ENV: 'production', ...settings };
  const child = spawn(execPath, [...execArgv, ...args], { env, stdio: ['ignore', 'ignore', 'pipe'] });
  let printed = '';
  child.stderr.on('data', (text) => (printed = (printed + text).slice(-2000)));
  const stop = () => child.kill('SIGKILL');
  process.once('exit', stop);
  await untilListening(port, () => {
    if (child.exitCode !== null) throw new Error(`${name} has ended with ${child.exitCode}:\n${printed}`);
  });
  return {
    ...{ name, port, domain: DOMAIN },
    usage: () => usageOf(child.pid),
    async end() {
      process.off('exit', stop);
      const gone = once(child, 'exit');
      stop();
      await gone;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** @param check - Throws when it cannot come any more. */
async function untilListening(port, check) {
  const endMs = performance.now() + DEADLINE_MS;
  for (;;) {
    const socket = connect(port, '127.0.0.1');
    const isOpen = await once(socket, 'connect').then(
      () => true,
      () => false,
    );
    socket.destroy();
    if (isOpen) return;
    check();
    if (performance.now() > endMs) throw new Error(`nothing listens on port ${port}`);
    await sleep(50);
  }
}

/** `taskset` becomes the program, so the process is the same. */
function usageOf(pid) {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1].split(' ');
  const [user, system, residentPages] = [fields[11], fields[12], fields[21]].map(Number);
  return { cpuUs: (user + system) * TICK_US, rssMiB: residentPages * PAGE_MIB };
}
