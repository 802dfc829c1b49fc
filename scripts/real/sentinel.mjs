// Runs Sentinel's own Java client against the service, and its own token server beside it: see scripts/real/sentinel.
// Needs a JDK 17 and Maven (Debian: maven). Run `npm run build` first. With SLUICE_RECORD=1 it writes the trace that
// `npm test` replays; `npm run fix` after it.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from '../../packages/testkit/dist/free-port.js';
import { startRedis } from '../../packages/testkit/dist/redis-server.js';
import { maven, Programs, root, until } from './programs.mjs';
import { HOSTILE, readAnswer, USUAL } from './sentinel/messages.mjs';
import { Relay } from './sentinel/relay.mjs';

const folder = `${root}scripts/real/sentinel`;
const trace = `${root}packages/server/test/sentinel/trace`;
const [OK, BLOCKED] = ['0', '1'];
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

function java(main, ...args) {
  const target = `${folder}/java/target`;
  const logging = `-Djava.util.logging.config.file=${folder}/java/logging.properties`;
  const options = [
    logging,
    '-XX:TieredStopAtLevel=1',
    '-Dproject.name=checkout',
    `-Dcsp.sentinel.log.dir=${target}/logs`,
  ];
  const classes = ['-cp', `${target}/classes:${target}/dependency/*`];
  return programs.start('java', [...options, ...classes, `sluice.${main}`, ...args.map(String)]);
}

/** The next line of ours: Sentinel prints others. */
async function answerOf(program) {
  for (;;) {
    const line = await program.line();
    if (line.startsWith('> ')) return line.slice(2);
  }
}

/** Sentinel's client, connected: `say` sends a command and returns its answer. */
async function startClient(port, timeoutMs = PATIENT_MS) {
  const client = java('Client', '127.0.0.1', port, timeoutMs, 101, LOCAL);
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

async function relayTo(port) {
  const relay = await Relay.start(port);
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

  const recorded = { commands, answers, client: relay.client, server: relay.server };
  if (process.env.SLUICE_RECORD === '1') {
    writeFileSync(`${trace}/trace.json`, `${JSON.stringify(recorded, undefined, 2)}\n`);
  }
  assert.deepEqual(recorded, JSON.parse(readFileSync(`${trace}/trace.json`, 'utf8')));
  await client.end();
  await service.end();
});

test("Sentinel's own server answers the same messages alike, hostile ones among them", async () => {
  const [own, others] = [await freePort(), await freePort()];
  const service = await programs.serve(`${folder}/limits.yaml`, { sentinel: own });
  const server = java('Server', others);
  assert.equal(await answerOf(server), 'ready');
  await until('it listens', () =>
    answersOf(others, []).then(
      () => true,
      () => false,
    ),
  );

  for (const [what, message] of [...USUAL, ...HOSTILE]) {
    const [ours, theirs] = await Promise.all([own, others].map((port) => answersOf(port, message)));
    assert.deepEqual(ours, theirs, what);
  }
  console.log(`  ${USUAL.length + HOSTILE.length} messages are answered alike`);
  await Promise.all([service.end(), server.end()]);
});

/** What a connection of its own is answered to a PING and a message, until nothing comes for a while. */
async function answersOf(port, message) {
  const socket = connect(port, '127.0.0.1');
  await once(socket, 'connect');
  const chunks = [];
  socket.on('data', (chunk) => chunks.push(chunk));
  socket.on('error', () => undefined);
  socket.write(Buffer.concat(message));
  await sleep(500);
  socket.destroy();
  let bytes = Buffer.concat(chunks);
  const answers = [];
  while (bytes.length > 2) {
    const end = 2 + bytes.readUInt16BE(0);
    answers.push(readAnswer(bytes.subarray(2, end)));
    bytes = bytes.subarray(end);
  }
  return answers;
}

test('thresholds per client count the clients of both replicas', async () => {
  const [one, other] = [await startReplica(), await startReplica()];
  const [here, there] = await Promise.all([startClient(one.port), startClient(other.port)]);

  await until('20 units of two clients are had', async () => (await here.say('flow 102 20')).startsWith(OK));
  assert.ok((await there.say('flow 102 1')).startsWith(BLOCKED));
  await Promise.all([here, there, one, other].map((program) => program.end()));
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

test('Redis hangs: the service answers from its fallback, in time', async () => {
  const replica = await startReplica();
  const client = await startClient(replica.port);
  redis.pause();
  try {
    const answers = [];
    for (let i = 0; i < 100; i++) answers.push((await client.say('timed 101 1')).split(' ').map(Number));
    const times = answers.map(([, ms]) => ms).sort((a, b) => a - b);
    const allowed = answers.filter(([status]) => status === 0).length;
    const inTime = times.filter((ms) => ms <= 20).length;
    console.log(
      `  while Redis hangs, of 100 answers ${inTime} in 20 ms, the longest ${times[99]} ms; ${allowed} allowed`,
    );
    assert.ok(answers.every(([status]) => status === 0 || status === 1));
    assert.ok(allowed >= LIMIT);
  } finally {
    redis.resume();
  }
  await Promise.all([client, replica].map((program) => program.end()));
});
