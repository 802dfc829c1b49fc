// Runs Sentinel's own Java client against the service: scripts/real/sentinel. Needs a JDK 17 and Maven (Debian: maven).
// With SLUICE_RECORD=1 it writes the trace that `npm test` replays; `npm run fix` after it.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { createInterface } from 'node:readline';
import { before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from '../../packages/testkit/dist/free-port.js';
import { until } from '../../packages/testkit/dist/until.js';
import { maven, redisServer, root, serve } from './programs.mjs';

const folder = `${root}scripts/real/sentinel/java`;
const trace = `${root}packages/server/test/sentinel/trace`;
/** Of replicas.yaml, and of the client itself. */
const [LIMIT, LOCAL] = [20, 5];
/** So long that a busy machine answers in time. Sentinel's own is 20 ms. */
const PATIENT_MS = 2_000;

before(() => maven(folder, 'package', 'dependency:copy-dependencies'));

/** Sentinel's client, connected: `say` sends a command and resolves to its answer. */
async function startClient(port) {
  const options = ['-XX:TieredStopAtLevel=1', `-Djava.util.logging.config.file=${folder}/logging.properties`];
  options.push('-Dproject.name=checkout', `-Dcsp.sentinel.log.dir=${folder}/target/logs`);
  const classes = ['-cp', `${folder}/target/classes:${folder}/target/dependency/*`];
  const args = [...options, ...classes, 'sluice.Client', '127.0.0.1', ...[port, PATIENT_MS, 101, LOCAL].map(String)];
  const child = spawn('java', args, { stdio: ['pipe', 'pipe', 'inherit'] });
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]();
  const say = async (command) => {
    child.stdin.write(`${command}\n`);
    for (;;) {
      const { value = '', done } = await lines.next();
      if (done) throw new Error('the client has ended');
      if (value.startsWith('> ')) return value.slice(2); // Sentinel prints other lines
    }
  };
  await until('the client is connected', async () => (await say('state')) === '2');
  return { say, end: () => child.kill('SIGKILL') };
}

/** A relay of TCP to a port, which can be another one later. `sent` keeps the bytes of each side, as hex. */
async function relayTo(port) {
  const sent = { client: '', server: '' };
  const relay = { target: port, sent };
  const listener = createServer((client) => {
    const server = connect(relay.target, '127.0.0.1');
    for (const [from, to, side] of [
      [client, server, 'client'],
      [server, client, 'server'],
    ]) {
      from.on('data', (bytes) => (sent[side] += bytes.toString('hex'))).pipe(to);
      from.setNoDelay(true).on('error', () => to.destroy());
    }
  }).listen(0, '127.0.0.1');
  await once(listener, 'listening');
  return Object.assign(relay, { port: listener.address().port, close: () => listener.close() });
}

test("the trace that npm test replays is what Sentinel's client sends, and is answered", async () => {
  const port = await freePort();
  await serve(`${trace}/limits.yaml`, { sentinel: port });
  const relay = await relayTo(port);
  const client = await startClient(relay.port);
  const answers = [];
  const commands = [
    ...['flow 101 2', 'flow 101 3 priority', 'flow 101 1', 'flow 404 1', 'flow 102 10', 'flow 102 1'],
    'param 201 5 string:ann int:5 long:5 double:1.5 float:0.5 short:3 byte:1 boolean:true',
    ...['param 201 1 string:bob string:ann', 'param 201 5 string:bob', 'param 201 1 string:bob', 'param 404 1 int:1'],
  ];
  for (const command of commands) answers.push(await client.say(command));
  client.end();
  relay.close();

  const recorded = { commands, answers, ...relay.sent };
  if (process.env.SLUICE_RECORD === '1') {
    writeFileSync(`${trace}/trace.json`, `${JSON.stringify(recorded, undefined, 2)}\n`);
  }
  assert.deepEqual(recorded, JSON.parse(readFileSync(`${trace}/trace.json`, 'utf8')));
});

/** The most instants within any second. */
function maxInASecond(instants) {
  let from = 0;
  return instants.reduce((max, atMs, i) => {
    while (atMs - instants[from] >= 1_000) from++;
    return Math.max(max, i - from + 1);
  }, 0);
}

test('one replica is killed: the client decides locally until it is connected to the other', async () => {
  const { url } = await redisServer();
  const [port, otherPort] = [await freePort(), await freePort()];
  const [replica] = await Promise.all(
    [port, otherPort].map((sentinel) =>
      serve(`${root}scripts/real/sentinel/replicas.yaml`, { sentinel }, '--redis', url, '--prefix', 'row'),
    ),
  );
  const relay = await relayTo(port);
  const client = await startClient(relay.port);
  const loading = client.say('load 15000 5');
  await sleep(5_000);
  const killedAtMs = Date.now();
  relay.target = otherPort;
  await replica.kill();
  const passed = (await loading).split(' ').map(Number);
  client.end();
  relay.close();

  const before = passed.filter((atMs) => atMs < killedAtMs);
  const max = maxInASecond(passed);
  const perSecond = Array.from({ length: 15 }, (_, s) => {
    return passed.filter((atMs) => Math.floor((atMs - passed[0]) / 1_000) === s).length;
  });
  console.log(`  passed each second: ${perSecond.join(' ')}; most in any: ${max}; before: ${maxInASecond(before)}`);
  assert.ok(before.length > 2 * LIMIT, 'the cluster decides before');
  assert.ok(
    perSecond.slice(10, 14).some((count) => count > 2 * LOCAL),
    'the cluster decides again',
  );
  // A client counts its own limit in halves of a second: in any second it may allow twice.
  assert.ok(max <= LIMIT + 2 * LOCAL, String(max));
});
