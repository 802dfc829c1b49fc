// Sends two minutes of generated requests to a real nginx with `limit_req`, and replays the log that nginx wrote through
// `sluice simulate` with the leaky bucket of the same rate and burst. Both must allow, delay and deny the same requests, but
// for those that are within a tick of nginx's clock of the edge. Run `npm run build` first.
//
//   node packages/simulate/scripts/beside-nginx.mjs [SECONDS]
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import http from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { freePort } from '../../testkit/dist/free-port.js';
import { randomOf } from './generate-log.mjs';

const [seconds = 120] = process.argv.slice(2).map(Number);
const [RATE, BURST, CLIENTS] = [10, 5, 20];
const UNIT_MS = 1000 / RATE;
/** nginx measures with the coarse clock of the kernel, which ticks every 4 ms, and logs with the system's time. */
const TICK_MS = 5;
const SLUICE = fileURLToPath(new URL('../../cli/dist/main.js', import.meta.url));
const cached = fileURLToPath(new URL('../../../node_modules/.cache/sluice/nginx', import.meta.url));
const NGINX = [process.env['NGINX'], '/usr/sbin/nginx', cached].find((path) => path && existsSync(path));
if (NGINX === undefined) {
  console.error('There is no nginx: run `node scripts/setup/test-tools.mjs`, or set NGINX to the path of one.');
  process.exit(2);
}

const folder = mkdtempSync(join(tmpdir(), 'sluice-nginx-'));
const log = join(folder, 'access.log');
const FORMAT = '$remote_addr $msec $limit_req_status "$request" $status';
const port = await freePort();
const nginx = await startNginx();
try {
  await send(schedule());
  nginx.kill('SIGQUIT');
  await once(nginx, 'exit');
  process.exitCode = compare() ? 0 : 1;
} finally {
  nginx.kill('SIGKILL');
  rmSync(folder, { recursive: true, force: true });
}

async function startNginx() {
  for (const name of ['body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']) mkdirSync(join(folder, name));
  const conf = join(folder, 'nginx.conf');
  writeFileSync(
    conf,
    `daemon off; worker_processes 1; pid ${folder}/pid; error_log ${folder}/error.log error;
events { worker_connections 1024; }
http {
  ${['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((name) => `${name}_temp_path ${folder}/${name.replace('client_', '')};`).join(' ')}
  log_format replay '${FORMAT.replace('$remote_addr', '$arg_client')}';
  limit_req_zone $arg_client zone=clients:1m rate=${RATE}r/s;
  keepalive_requests 1000000;
  server {
    listen 127.0.0.1:${port};
    access_log ${log} replay;
    location / { limit_req zone=clients burst=${BURST}; limit_req_dry_run on; empty_gif; }
  }
}
`,
  );
  const child = spawn(NGINX, ['-p', folder, '-c', conf, '-e', join(folder, 'error.log')], { stdio: 'inherit' });
  for (let tries = 0; tries < 200; tries++) {
    const isUp = await new Promise((resolve) => {
      http
        .get({ port, host: '127.0.0.1', path: '/?client=10.9.9.9' }, (response) => resolve(response.resume() && true))
        .on('error', () => resolve(false));
    });
    if (isUp) return child;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error('nginx does not start');
}

/** Bursts, and requests in the middle between two instants at which a unit becomes free; then a pause in which all do. */
function schedule() {
  const random = randomOf(20);
  const found = [];
  for (let client = 1; client <= CLIENTS; client++) {
    for (let atMs = 500 + random() * 2000; atMs < seconds * 1000 - 3000;) {
      const first = 1 + Math.floor(random() * 9);
      for (let i = 0; i < first; i++) found.push({ atMs, client });
      const later = Math.floor(random() * 14);
      let units = 0;
      for (let i = 0; i < later; i++) {
        units += Math.floor(random() * 2.2);
        found.push({ atMs: atMs + (units + 0.4 + random() * 0.2) * UNIT_MS, client });
      }
      atMs += (units + BURST + 3) * UNIT_MS + 500 + random() * 1000;
    }
  }
  return found.sort((one, other) => one.atMs - other.atMs);
}

async function send(requests) {
  const agent = new http.Agent({ keepAlive: true, maxSockets: 64 });
  const startMs = performance.now();
  const pending = [];
  for (const { atMs, client } of requests) {
    const waitMs = startMs + atMs - performance.now();
    if (waitMs > 0) await new Promise((resolve) => setTimeout(resolve, waitMs));
    pending.push(
      new Promise((resolve, reject) => {
        http
          .get({ agent, port, host: '127.0.0.1', path: `/?client=10.0.0.${client}` }, (response) => {
            response.resume().on('end', resolve);
          })
          .on('error', reject);
      }),
    );
  }
  await Promise.all(pending);
  agent.destroy();
}

function compare() {
  const decisions = join(folder, 'decisions');
  const policy = `leakyBucket --limit ${RATE} --window 1s --max-delay ${BURST * UNIT_MS}ms`;
  const ran = spawnSync(
    process.execPath,
    [SLUICE, 'simulate', log, '--format', FORMAT, '--policy', policy, '--decisions', decisions],
    { encoding: 'utf8' },
  );
  if (ran.status !== 0) throw new Error(ran.stderr);
  const lines = readFileSync(log, 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => line.split(' '));
  const statuses = new Map();
  const different = [];
  const freeAtMs = new Map();
  let contested = 0;
  for (const text of readFileSync(decisions, 'utf8').trimEnd().split('\n')) {
    const { line, atMs, key, allowed } = JSON.parse(text);
    const status = lines[line - 1][2];
    statuses.set(status, (statuses.get(status) ?? 0) + 1);
    // As nginx has decided: so that one difference does not make the next ones.
    const aheadMs = Math.max((freeAtMs.get(key) ?? atMs) - atMs, 0);
    const marginMs = Math.abs(aheadMs - BURST * UNIT_MS);
    if (marginMs <= TICK_MS) contested++;
    const nginxAllows = !status.startsWith('REJECTED');
    if (nginxAllows !== allowed) different.push({ line, key, status, allowed, aheadMs, marginMs });
    if (nginxAllows) freeAtMs.set(key, atMs + aheadMs + UNIT_MS);
  }
  console.log(
    `${lines.length} requests in ${seconds} s; nginx: ${[...statuses].map(([status, count]) => `${count} ${status}`).join(', ')}`,
  );
  console.log(
    `${policy}: ${different.length} decisions differ; ${contested} requests were within ${TICK_MS} ms of the edge`,
  );
  for (const one of different) console.log(JSON.stringify(one));
  return different.every(({ marginMs }) => marginMs <= TICK_MS);
}
