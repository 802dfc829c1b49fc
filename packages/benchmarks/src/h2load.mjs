// Checks our generator of calls with another program: h2load of nghttp2 calls the service at a rate, beside grpc-js that answers a constant.
// Its waits count from when it sent a call, ours from when the call was due.
//
//   node packages/benchmarks/src/h2load.mjs [CALLS A SECOND] [SECONDS] [ROUNDS]
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { messageOf, rateLimitRequest } from './measure/grpc-connection.mjs';
import { quantile } from './measure/spread.mjs';
import { MEASURED, OTHER, heldTo } from './processes/cores.mjs';
import { startServer } from './processes/redis.mjs';
import { Worker } from './processes/worker.mjs';

const [perSecond = 4000, seconds = 4, rounds = 3] = process.argv.slice(2).map(Number);
const CLIENTS = 4;
const PATH = '/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit';

const folder = mkdtempSync(join(tmpdir(), 'sluice-h2load-'));
const [message, log] = [join(folder, 'message'), join(folder, 'log')];
writeFileSync(message, messageOf(rateLimitRequest('many', [[['rule-0', 'ann']]])));
const redis = await startServer();
const servers = [];
for (const server of ['grpc-js', 'sluice']) {
  const worker = new Worker('service-server.mjs', { core: MEASURED, flags: ['--max-semi-space-size=4'] });
  const { port } = await worker.ask('open', { server, redisUrl: redis.urls[0] });
  servers.push({ server, worker, port, seen: [] });
  for (let i = 0; i < 3; i++) await load(port);
}
for (let round = 0; round < rounds; round++) {
  for (const { worker, port, seen } of servers) {
    const before = await worker.ask('usage');
    const figures = await load(port);
    const after = await worker.ask('usage');
    seen.push({ ...figures, cpuUs: (after.cpuUs - before.cpuUs) / figures.calls });
  }
}
for (const { server, seen } of servers) {
  for (const { calls, failed, p50Ms, p99Ms, cpuUs } of seen) {
    console.log(
      `${server}: ${(calls / seconds).toFixed(0)} a second, ${failed} failed, p50 ${p50Ms.toFixed(2)} ms, p99 ${p99Ms.toFixed(2)} ms, ${cpuUs.toFixed(1)} us CPU a call`,
    );
  }
}
for (const { worker } of servers) {
  await worker.ask('close');
  await worker.end();
}
await redis.stop();
rmSync(folder, { recursive: true });

async function load(port) {
  rmSync(log, { force: true });
  const { execPath, execArgv } = heldTo(OTHER, { node: 'h2load' });
  const args = [
    ...['--clients', String(CLIENTS), '--max-concurrent-streams', '1000', '--rps', String(perSecond / CLIENTS)],
    ...['--duration', String(seconds), '--log-file', log, '--data', message],
    ...['--header', 'content-type: application/grpc', '--header', 'te: trailers'],
    `http://127.0.0.1:${port}${PATH}`,
  ];
  const child = spawn(execPath, [...execArgv, ...args], { stdio: 'ignore' });
  await once(child, 'close');
  const lines = readFileSync(log, 'utf8').trimEnd().split('\n');
  const waits = lines.map((line) => Number(line.split('\t')[2]) / 1000);
  const failed = lines.filter((line) => line.split('\t')[1] !== '200').length;
  return { calls: lines.length, failed, p50Ms: quantile(waits, 0.5), p99Ms: quantile(waits, 0.99) };
}
