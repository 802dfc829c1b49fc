import { spawn, type ChildProcessWithoutNullStreams } from 'node:child_process';
import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import { fileURLToPath } from 'node:url';
import { afterEach, expect, it } from '@jest/globals';
import { concurrency, createLimiter, redisStore } from '@sluice/old-core';
import { until, useRedis } from '@sluice/testkit';

const redis = useRedis();
const SCRIPT = fileURLToPath(new URL('../children/serve-slots.mjs', import.meta.url));
const options = { limit: 6, ttl: 3_000 };

const children: ChildProcessWithoutNullStreams[] = [];
const responses: IncomingMessage[] = [];
afterEach(() => {
  for (const response of responses.splice(0)) response.destroy();
  for (const child of children.splice(0)) child.kill('SIGKILL');
});

interface Server {
  readonly child: ChildProcessWithoutNullStreams;
  readonly port: number;
}

async function start(): Promise<Server> {
  const child = spawn(process.execPath, [SCRIPT, redis.server.storeUrl, JSON.stringify(options)]);
  children.push(child);
  let errors = '';
  child.stderr.on('data', (text: Buffer) => (errors += text.toString()));
  const gone = once(child, 'exit').then(() => Promise.reject(new Error(`a server ended early: ${errors}`)));
  gone.catch(() => undefined);
  const [port] = (await Promise.race([once(child.stdout, 'data'), gone])) as [Buffer];
  return { child, port: Number(port.toString()) };
}

/** Sends a request, and returns its status once the response has begun. */
async function send({ port }: Server, path = '/'): Promise<number | undefined> {
  const request = get({ host: '127.0.0.1', port, path, agent: false }).on('error', () => undefined);
  const [response] = (await once(request, 'response')) as [IncomingMessage];
  response.on('error', () => undefined).resume();
  responses.push(response);
  return response.statusCode;
}

it('slots of servers that are killed in mid-request are free after their ttl; those of others stay held', async () => {
  const servers = [await start(), await start(), await start()] as [Server, Server, Server];
  const [survivor, ...killed] = servers;
  const store = redisStore(redis.client, { prefix: 'sluice' });
  const policy = concurrency(options);
  const observer = createLimiter({ name: 'held', policy, store, onStoreError: 'throw', timeoutMs: 30_000 });
  const serverMs = async (): Promise<number> => (await observer.peek('*')).atMs;
  const statuses = await Promise.all(servers.flatMap((server) => [send(server), send(server), send(server)]));
  expect(statuses.filter((status) => status === 200)).toHaveLength(6);
  expect(statuses.filter((status) => status === 429)).toHaveLength(3);
  const ofSurvivor = statuses.slice(0, 3).filter((status) => status === 200).length;

  const killedAtMs = await serverMs();
  for (const { child } of killed) child.kill('SIGKILL');
  await Promise.all(killed.map(async ({ child }) => child.exitCode ?? child.signalCode ?? once(child, 'exit')));
  const { atMs, remaining } = await observer.peek('*');
  // Each was renewed, or acquired, in the third of a ttl before the kill, or was about to be.
  expect(remaining === 0 || atMs - killedAtMs > options.ttl / 3).toBe(true);

  let freeAtMs = 0;
  await until('the slots of the killed are free', async () => {
    const peeked = await observer.peek('*');
    freeAtMs = peeked.atMs;
    return peeked.remaining === 6 - ofSurvivor;
  });
  // For another ttl, the survivor's requests keep theirs.
  let most = 0;
  await until('a ttl has passed', async () => {
    const peeked = await observer.peek('*');
    most = Math.max(most, peeked.remaining);
    return peeked.atMs > freeAtMs + options.ttl;
  });
  expect(most).toBe(6 - ofSurvivor);

  await send(survivor, '/end');
  await until('all are free', async () => (await observer.peek('*')).remaining === 6);
  await observer.close();
});
