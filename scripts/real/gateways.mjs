// The gateways of the design notes: three behind nginx, with weights 3:1:1 that nginx and the shares of the limit both
// take from a real Consul. One is killed and comes back, and the limit is raised and cut in Consul's key-value store.
// What is allowed in each second is never above the limit outside the time the registry needs to notice, which is
// measured. Run `npm run build` first.
import assert from 'node:assert/strict';
import { Agent, request } from 'node:http';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { Deployment } from './gateways/deployment.mjs';

const LIMIT = 100;
const RAISED = 200;
const WEIGHTS = { a: 3, b: 1, c: 1 };
const CONNECTIONS = 16;
/** A request of each connection every 25 ms: more than three times the larger limit. */
const PAUSE_MS = 25;
const DEADLINE_MS = 60_000;
/** A change of a managed policy is in every process within this time, by its contract. */
const HEARD_MS = 1000;

let deployment;
let stopLoad;
const answers = [];
/** When each limit was in force, by when it was written. */
const limits = [{ limit: LIMIT, fromMs: -Infinity }];

before(async () => {
  deployment = await Deployment.open(WEIGHTS, LIMIT);
  stopLoad = load();
});
after(async () => {
  await stopLoad?.();
  await deployment?.close();
});

test('three gateways allow together the limit, each by its weight in Consul', async () => {
  const beganMs = Date.now();
  await until('five seconds are used up', () => usedUp(beganMs, LIMIT).length >= 5);

  for (const second of usedUp(beganMs, LIMIT)) assert.deepEqual(allowedBy(second), { a: 60, b: 20, c: 20 });
});

test('one is killed, and the others have the limit again', async () => {
  await deployment.kill('a');
  const killedMs = Date.now();
  await deployment.lists(2);
  const noticedMs = Date.now() - killedMs;
  const byOthers = () => usedUp(killedMs, LIMIT).find((second) => allowedBy(second).a === undefined);
  await until('the others use a second up', () => byOthers() !== undefined);
  report('a gateway that was killed is noticed after', noticedMs);
  report('the others have the whole limit after', byOthers() - killedMs);
});

test('it comes back, and has its share again', async () => {
  const startedMs = Date.now();
  await deployment.start('a', WEIGHTS.a);
  report('a gateway that came back has its share after', Date.now() - startedMs);
  await until('it allows by its weight', () => usedUp(startedMs, LIMIT).some((second) => allowedBy(second).a === 60));
  const whole = usedUp(startedMs, LIMIT).find((second) => allowedBy(second).a === 60);
  report('all have the whole limit after', whole - startedMs);
});

test('the limit is raised in Consul, and allowed from the next window on', async () => {
  // When each gateway has allowed some requests of a second, and most of it is to come.
  await sleep(1300 - (Date.now() % 1000));
  const second = Math.floor(Date.now() / 1000) * 1000;
  const writtenMs = await setLimit(RAISED);
  await until('a second is used up', () => usedUp(writtenMs, RAISED).length > 0);
  report('a limit that was raised is allowed after', usedUp(writtenMs, RAISED)[0] - writtenMs);
  assert.ok(allowedIn(second) <= LIMIT, `${allowedIn(second)} in the second of the write`);
});

test('the limit is cut in Consul, and holds at once where it is known', async () => {
  const writtenMs = await setLimit(LIMIT);
  await until('three seconds have passed', () => Date.now() > writtenMs + 4000);
  const late = seconds().filter((second) => second >= writtenMs && allowedIn(second) > LIMIT);
  report('a limit that was cut is exceeded for', late.length === 0 ? 0 : late.at(-1) + 1000 - writtenMs);
});

test('in no second more was allowed than a limit that a gateway could know', () => {
  const excess = seconds().filter((second) => allowedIn(second) > mostOf(second));

  assert.deepEqual(
    excess.map((second) => ({ second, allowed: allowedIn(second), most: mostOf(second) })),
    [],
  );
  assert.ok(seconds().length > 15);
});

test('no request was left without a response', () => {
  assert.deepEqual([...new Set(answers.map(({ status }) => status))].sort(), [200, 429]);
});

async function setLimit(limit) {
  const fromMs = Date.now();
  limits.push({ limit, fromMs });
  return deployment.setLimit(limit);
}

/** The largest limit that was in force in a second, or until a second before it. */
function mostOf(second) {
  const inForce = limits.filter(({ fromMs }, i) => {
    const untilMs = limits[i + 1]?.fromMs ?? Infinity;
    return fromMs < second + 1000 && untilMs + HEARD_MS > second;
  });
  return Math.max(...inForce.map(({ limit }) => limit));
}

/** The seconds that are over, by the clock of the gateways. */
function seconds() {
  const found = new Set(answers.map(({ second }) => second));
  return [...found].sort((a, b) => a - b).slice(1, -1);
}

function allowedBy(second) {
  const counts = {};
  for (const answer of answers) {
    if (answer.second === second && answer.status === 200) counts[answer.gateway] = (counts[answer.gateway] ?? 0) + 1;
  }
  return Object.fromEntries(Object.entries(counts).sort());
}

function allowedIn(second) {
  return answers.filter((answer) => answer.second === second && answer.status === 200).length;
}

/** The seconds after an instant in which this limit was used up. */
function usedUp(fromMs, limit) {
  return seconds().filter((second) => second >= fromMs && allowedIn(second) === limit);
}

function report(what, ms) {
  console.log(`# ${what} ${Math.round(ms)} ms`);
}

async function until(what, condition) {
  const endMs = Date.now() + DEADLINE_MS;
  while (!condition()) {
    if (Date.now() > endMs) throw new Error(`not within ${DEADLINE_MS} ms: ${what}`);
    await sleep(100);
  }
}

/** Sends requests through nginx until it is stopped. */
function load() {
  const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS });
  let isDone = false;
  const workers = Array.from({ length: CONNECTIONS }, async () => {
    while (!isDone) {
      answers.push(await ask(agent));
      await sleep(PAUSE_MS);
    }
  });
  return async () => {
    isDone = true;
    await Promise.all(workers);
    agent.destroy();
  };
}

function ask(agent) {
  return new Promise((resolve) => {
    const sent = request({ host: '127.0.0.1', port: deployment.port, agent }, (response) => {
      response.resume();
      const { 'x-gateway': gateway, 'x-decided-at': atMs } = response.headers;
      response.once('end', () =>
        resolve({ status: response.statusCode, gateway, second: Math.floor(Number(atMs) / 1000) * 1000 }),
      );
    });
    // nginx closes idle connections when its configuration changes: a request that was sent on one is sent again.
    sent.once('error', (error) => resolve(sent.reusedSocket ? ask(agent) : { status: error.code }));
    sent.end();
  });
}
