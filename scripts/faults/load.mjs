// A process of its own: sends requests at a steady rate on keep-alive connections, in an open loop. A request is sent
// when it is due, also while earlier ones are pending, and its wait is counted from then.
import http from 'node:http';
import { answerTo, settings } from './children.mjs';
import { now } from './clock.mjs';

const { ports, rate, unlimitedRate = 0, keyHeader, keys } = settings;
const LONGEST_MS = 10_000;

const agent = new http.Agent({ keepAlive: true, scheduling: 'lifo' });
const everyMs = 1000 / ((rate + unlimitedRate) * ports.length);
/** One request in this many is not limited. */
const cycle = unlimitedRate === 0 ? Infinity : Math.round(1 + rate / unlimitedRate);
let answered = [];
const open = new Set();
let sent = 0;
let startedAt = Infinity;
let timer;

function send(dueAt) {
  const turn = Math.floor(sent / ports.length);
  const server = sent++ % ports.length;
  const isLimited = turn % cycle !== cycle - 1;
  const row = { server, isLimited, dueAt, sentAt: now(), status: 0, source: undefined };
  open.add(row);
  const end = () => {
    if (!open.delete(row)) return;
    row.waitMs = now() - dueAt;
    answered.push(row);
  };
  if (keyHeader !== undefined) row.key = nextKey();
  const headers = keyHeader === undefined ? {} : { [keyHeader]: row.key };
  const path = isLimited ? '/' : '/unlimited';
  const request = http.request({ host: '127.0.0.1', port: ports[server], path, agent, headers, timeout: LONGEST_MS });
  request.on('response', (response) => {
    response.resume();
    response.on('end', () => {
      row.status = response.statusCode;
      row.source = response.headers['x-source'];
      end();
    });
    response.on('error', end);
  });
  request.on('timeout', () => request.destroy());
  request.on('error', end);
  request.end();
}

function sendWhatIsDue() {
  const at = now();
  for (let dueAt = startedAt + sent * everyMs; dueAt <= at; dueAt = startedAt + sent * everyMs) send(dueAt);
  timer = setTimeout(sendWhatIsDue, Math.max(Math.floor(startedAt + sent * everyMs - now()), 0));
}

/** The key of a random present client. A new client sometimes replaces it, so that some ask often and some once. */
let present = [];
let born = 0;
function nextKey() {
  if (present.length === 0) present = Array.from({ length: keys.atOnce }, () => `client-${String(born++)}`);
  const i = Math.floor(Math.random() * present.length);
  if (Math.random() < keys.turnover) present[i] = `client-${String(born++)}`;
  return present[i];
}

answerTo({
  start() {
    startedAt = now() + 50;
    sendWhatIsDue();
  },
  /** The responses since the last call. */
  take() {
    const taken = answered;
    answered = [];
    return { rows: taken };
  },
  /** Stops sending, waits for pending responses, and returns those that were not taken yet. */
  async stop() {
    clearTimeout(timer);
    const untilMs = now() + LONGEST_MS;
    while (open.size > 0 && now() < untilMs) await new Promise((resolve) => setTimeout(resolve, 20));
    for (const row of open) answered.push({ ...row, waitMs: now() - row.dueAt });
    return { rows: answered };
  },
});
