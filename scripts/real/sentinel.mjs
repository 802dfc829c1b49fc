// Runs Sentinel's own Java client against the service: scripts/real/sentinel. Needs a JDK 17 and Maven (Debian: maven).
// With SLUICE_RECORD=1 it writes the trace that `npm test` replays; `npm run fix` after it.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from '../../packages/testkit/dist/free-port.js';
import { startRedis } from '../../packages/testkit/dist/redis-server.js';
import { maven, Programs, root, until } from './programs.mjs';

const folder = `${root}scripts/real/sentinel`;
const trace = `${root}packages/server/test/sentinel/trace`;
/** Of replicas.yaml, and of the client itself. */
const [LIMIT, LOCAL] = [20, 5];
/** So long that a busy machine answers in time. Sentinel's own is 20 ms. */
const PATIENT_MS = 2_000;

const programs = new Programs();
const relays = [];
let redis;
before(async () => {
  maven(`${folder}/java`, 'package', 'dependency:copy-dependencies');
  redis = await startRedis();
});
after(async () => {
  for (const relay of relays) relay.close();
  await programs.close();
  await redis?.stop();
});

function java(...args) {
  const target = `${folder}/java/target`;
  const logging = `-Djava.util.logging.config.file=${folder}/java/logging.properties`;
  const options = [
    logging,
    '-XX:TieredStopAtLevel=1',
    '-Dproject.name=checkout',
    `-Dcsp.sentinel.log.dir=${target}/logs`,
  ];
  const classes = ['-cp', `${target}/classes:${target}/dependency/*`];
  return programs.start('java', [...options, ...classes, 'sluice.Client', ...args.map(String)]);
}

/** The next line of ours: Sentinel prints others. */
async function answerOf(program) {
  for (;;) {
    const line = await program.line();
    if (line.startsWith('> ')) return line.slice(2);
  }
}

/** Sentinel's client, connected: `say` sends a command and returns its answer. */
async function startClient(port) {
  const client = java('127.0.0.1', port, PATIENT_MS, 101, LOCAL);
  const say = async (command) => {
    client.child.stdin.write(`${command}\n`);
    return answerOf(client);
  };
  await until('the client is connected', async () => (await say('state')) === '2');
  return { ...client, say };
}

async function startReplica() {
  const port = await freePort();
  const flags = ['--redis', redis.url, '--prefix', 'row'];
  const program = await programs.serve(`${folder}/replicas.yaml`, { sentinel: port }, ...flags);
  return { ...program, port };
}

/** A relay of TCP to a port, which can be another one later. `sent` keeps the bytes of each side, as hex. */
async function relayTo(port) {
  const sent = { client: '', server: '' };
  const server = createServer((from) => {
    const to = connect(relay.target, '127.0.0.1');
    for (const [one, other, side] of [
      [from, to, 'client'],
      [to, from, 'server'],
    ]) {
      one.setNoDelay(true).on('data', (bytes) => {
        sent[side] += bytes.toString('hex');
        other.write(bytes);
      });
      one.on('error', () => undefined).on('close', () => other.destroy());
    }
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const relay = { target: port, port: server.address().port, sent, close: () => server.close() };
  relays.push(relay);
  return relay;
}

/** The most instants within any second. */
function mostInASecond(instants) {
  let from = 0;
  return instants.reduce((most, atMs, i) => {
    while (atMs - instants[from] >= 1_000) from++;
    return Math.max(most, i - from + 1);
  }, 0);
}

test("the trace that npm test replays is what Sentinel's client sends, and is answered", async () => {
  const port = await freePort();
  const service = await programs.serve(`${trace}/limits.yaml`, { sentinel: port });
  const relay = await relayTo(port);
  const client = await startClient(relay.port);
  const answers = [];
  const commands = [
    ...['flow 101 2', 'flow 101 3 priority', 'flow 101 1', 'flow 404 1', 'flow 102 10', 'flow 102 1'],
    'param 201 5 string:ann int:5 long:5 double:1.5 float:0.5 short:3 byte:1 boolean:true',
    ...['param 201 1 string:bob string:ann', 'param 201 5 string:bob', 'param 201 1 string:bob', 'param 404 1 int:1'],
  ];
  for (const command of commands) answers.push(await client.say(command));

  const recorded = { commands, answers, ...relay.sent };
  if (process.env.SLUICE_RECORD === '1') {
    writeFileSync(`${trace}/trace.json`, `${JSON.stringify(recorded, undefined, 2)}\n`);
  }
  assert.deepEqual(recorded, JSON.parse(readFileSync(`${trace}/trace.json`, 'utf8')));
  await client.end();
  await service.end();
});

test('one replica is killed: the client decides locally until it is connected to the other', async () => {
  const [one, other] = [await startReplica(), await startReplica()];
  const relay = await relayTo(one.port);
  const client = await startClient(relay.port);
  const loading = client.say('load 15000 5');
  await sleep(5_000);
  const killedAtMs = Date.now();
  relay.target = other.port;
  await one.end('SIGKILL');
  const passed = (await loading).split(' ').map(Number);

  const before = passed.filter((atMs) => atMs < killedAtMs);
  const most = mostInASecond(passed);
  const perSecond = Array.from({ length: 15 }, (_, s) => {
    return passed.filter((atMs) => Math.floor((atMs - passed[0]) / 1_000) === s).length;
  });
  console.log(`  passed each second: ${perSecond.join(' ')}; most in any: ${most}; before: ${mostInASecond(before)}`);
  assert.ok(before.length > 2 * LIMIT, 'the cluster decides before');
  assert.ok(
    perSecond.slice(10, 14).some((count) => count > 2 * LOCAL),
    'the cluster decides again',
  );
  // A client counts its own limit in halves of a second: in any second it may allow twice.
  assert.ok(most <= LIMIT + 2 * LOCAL, String(most));
  await Promise.all([client, other].map((program) => program.end()));
});
