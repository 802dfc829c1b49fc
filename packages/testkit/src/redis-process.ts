import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { connect as connectTcp, type Socket } from 'node:net';
import { delimiter, dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { connect as connectTls } from 'node:tls';
import { fileURLToPath } from 'node:url';
import { tlsFixture } from './tls-fixture.ts';

/** A process of a Redis server or Sentinel, ended by its id, and with this process at the latest. */
export interface RedisProcess {
  readonly pid: number;
  /** Kill -9, also while it is stopped by SIGSTOP. Resolves when it has ended. */
  kill(): Promise<void>;
}

const DEADLINE_MS = 60_000;

const running = new Set<ChildProcess>();
process.once('exit', () => {
  for (const server of running) server.kill('SIGKILL');
});

/** The reply of a starting server: ready, or still loading its data. */
export type Sign = '+PONG' | '-LOADING';

/** Starts a process and waits for its sign. */
export async function startProcess(
  args: readonly string[],
  port: number,
  { tls = false, sign = '+PONG' }: { tls?: boolean; sign?: Sign } = {},
): Promise<RedisProcess> {
  const server = spawn(serverPath(), args, { stdio: ['ignore', 'pipe', 'pipe'] });
  running.add(server);
  let log = '';
  server.stdout.on('data', (text: Buffer) => (log += text.toString()));
  server.stderr.on('data', (text: Buffer) => (log += text.toString()));
  const kill = async (): Promise<void> => {
    if (!hasEnded(server)) {
      const gone = once(server, 'exit');
      server.kill('SIGKILL');
      await gone;
    }
    running.delete(server);
  };

  const startedAt = performance.now();
  while (!(await ask(port, tls)).startsWith(sign)) {
    if (hasEnded(server) || performance.now() - startedAt > DEADLINE_MS) {
      await kill();
      throw new Error(`redis-server did not start on port ${String(port)}:\n${log}`);
    }
    await sleep(10);
  }
  if (server.pid === undefined || hasEnded(server)) throw new Error(`another server answers on port ${String(port)}`);
  return { pid: server.pid, kill };
}

function hasEnded(server: ChildProcess): boolean {
  return server.exitCode !== null || server.signalCode !== null;
}

/** The reply to PING, or undefined. */
async function ask(port: number, tls: boolean): Promise<string> {
  return new Promise((resolve) => {
    const onConnect = (): void => void socket.write('PING\r\n');
    const socket: Socket = tls
      ? connectTls({ port, host: '127.0.0.1', ca: tlsFixture.ca }, onConnect)
      : connectTcp(port, '127.0.0.1', onConnect);
    socket.setTimeout(5000);
    const end = (answer: string): void => {
      socket.destroy();
      resolve(answer);
    };
    socket.on('data', (data) => {
      end(data.toString());
    });
    socket.on('error', () => {
      end('');
    });
    socket.on('close', () => {
      end('');
    });
    socket.on('timeout', () => {
      end('');
    });
  });
}

/** The binary that scripts/setup/test-tools.mjs found or made. */
function serverPath(): string {
  const named = process.env['REDIS_SERVER'];
  if (named !== undefined && named !== '') return named;
  const folders = (process.env['PATH'] ?? '').split(delimiter);
  const onPath = ['redis-server', 'valkey-server'].flatMap((name) => folders.map((folder) => join(folder, name)));
  const found = [...onPath, ...cached(fileURLToPath(import.meta.url))].find((path) => existsSync(path));
  if (found === undefined)
    throw new Error('no redis-server or valkey-server: run `node scripts/setup/test-tools.mjs`, or set REDIS_SERVER');
  return found;
}

/** Where test-tools.mjs keeps what it makes: in the root's node_modules, wherever below it this file lies. */
function* cached(path: string): Generator<string> {
  for (let folder = dirname(path); folder !== dirname(folder); folder = dirname(folder)) {
    yield join(folder, 'node_modules/.cache/sluice/redis-server');
  }
}
