// Runs examples/spring-cloud-gateway: two gateways whose clocks are an hour apart, one service on Redis, one upstream.
// Needs a JDK 17, Maven and faketime (Debian: maven, faketime). Run `npm run build` first.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { before, test } from 'node:test';
import { freePort } from '../../packages/testkit/dist/free-port.js';
import { until } from '../../packages/testkit/dist/until.js';
import { listening, maven, redisServer, root, serve, start } from './programs.mjs';

const example = `${root}examples/spring-cloud-gateway`;
/** Java starts slowly beside other work. */
const LONG_MS = 300_000;
let upstreamPort;
let service;
let servicePort;
/** Of the first, whose clock is right; of the second, an hour ahead; of one that denies where nothing decides. */
let gateways;

async function startGateway({ onError = 'allow', ahead = false } = {}) {
  const port = await freePort();
  const java = ['-XX:TieredStopAtLevel=1', '-XX:+UseSerialGC', '-jar', `${example}/target/gateway.jar`];
  const env = {
    ...process.env,
    ...(ahead && anHourAhead()),
    SERVER_PORT: String(port),
    SLUICE_URL: `http://127.0.0.1:${servicePort}`,
    SLUICE_ON_ERROR: onError,
    SLUICE_TIMEOUT: '10s', // for a machine that does more than this
    UPSTREAM: `http://127.0.0.1:${upstreamPort}`,
  };
  await start('java', java, () => true, { env });
  await until('the gateway is ready', () => fetch(`http://127.0.0.1:${port}/`), LONG_MS);
  return port;
}

/** What faketime sets for a program: without it, so that Java is no child of another program. */
function anHourAhead() {
  const set = execFileSync('faketime', ['-f', '+1h', 'env'], { encoding: 'utf8' }).split('\n');
  const faked = set.filter((line) => /^(LD_PRELOAD|FAKETIME)=/.test(line)).map((line) => line.split('='));
  return { FAKETIME_DONT_FAKE_MONOTONIC: '1', ...Object.fromEntries(faked) };
}

async function ask(port, user) {
  const headers = user === undefined ? {} : { 'x-user': user };
  const response = await fetch(`http://127.0.0.1:${port}/orders/1`, { headers });
  return { status: response.status, headers: response.headers, body: await response.text() };
}

before(async () => {
  maven(example, 'package');
  upstreamPort = await listening((_request, response) => response.end('hello\n'));
  servicePort = await freePort();
  const limits = `${example}/limits.yaml`;
  service = await serve(limits, { http: servicePort }, '--redis', (await redisServer()).url, '--timeout', '5s');
  gateways = [
    await startGateway(),
    await startGateway({ ahead: true }),
    await startGateway({ onError: 'deny', ahead: true }),
  ];
});

test('5 of 8 requests pass over both gateways, and the others get 429', async () => {
  const answers = [];
  for (let i = 0; i < 8; i++) answers.push(await ask(gateways[i % 2], 'ada'));

  assert.deepEqual(
    answers.map(({ status }) => status),
    [200, 200, 200, 200, 200, 429, 429, 429],
  );
  assert.equal(answers[0].body, 'hello\n');
});

test('the fields of the service are on the responses', async () => {
  const [allowed, denied] = [await ask(gateways[0], 'bob'), await ask(gateways[1], 'ada')];

  assert.equal(allowed.headers.get('ratelimit-policy'), '"orders";q=5;w=3600');
  assert.match(allowed.headers.get('ratelimit'), /^"orders";r=4;t=\d+$/);
  assert.match(denied.headers.get('ratelimit'), /^"orders";r=0;t=\d+$/);
  assert.match(denied.headers.get('retry-after'), /^\d+$/);
  assert.equal(denied.headers.get('cache-control'), 'no-store');
});

test('a request without a key is denied by the gateway, and takes nothing', async () => {
  assert.equal((await ask(gateways[0])).status, 403);
});

test('without the service, on-error decides', async () => {
  await service.kill();

  const [allow, , deny] = gateways;
  const allowed = await Promise.all(Array.from({ length: 8 }, () => ask(allow, 'ada')));
  const denied = await ask(deny, 'new');
  assert.deepEqual(new Set(allowed.map(({ status }) => status)), new Set([200]));
  assert.equal(allowed[0].headers.get('ratelimit'), null);
  assert.equal(denied.status, 429);
});
