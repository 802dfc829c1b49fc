import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { connect, createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

/** A Redis server of one test file, on a private port of the loopback. */
export interface RedisServer {
  readonly host: '127.0.0.1';
  readonly port: number;
  readonly url: string;
  readonly pid: number;
  /** Ends it by its process id. */
  stop(): Promise<void>;
}

const ATTEMPTS = 5;
const DEADLINE_MS = 15_000;

/**
 * Starts a real server, without persistence, and waits until it answers. It ends with this process at the latest.
 *
 * @param args - Further arguments, such as `['--maxmemory', '10mb']`.
 */
export async function startRedis(args: readonly string[] = []): Promise<RedisServer> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await startOn(await freePort(), args);
    } catch (error) {
      if (attempt === ATTEMPTS) throw error; // a port can be taken between the look and the start
    }
  }
}

async function startOn(port: number, args: readonly string[]): Promise<RedisServer> {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-redis-'));
  const server = spawn(
    serverPath(),
    ['--port', String(port), '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no', '--dir', folder, ...args],
    {
      stdio: ['ignore', 'pipe', 'pipe'],
    },
  );
  let log = '';
  server.stdout.on('data', (text: Buffer) => (log += text.toString()));
  server.stderr.on('data', (text: Buffer) => (log += text.toString()));
  const kill = (): void => void server.kill('SIGKILL');
  process.once('exit', kill);
  const stop = async (): Promise<void> => {
    process.removeListener('exit', kill);
    if (server.exitCode === null && server.signalCode === null) {
      const gone = once(server, 'exit');
      server.kill('SIGKILL');
      await gone;
    }
    rmSync(folder, { recursive: true, force: true });
  };

  const startedAt = performance.now();
  while (!(await answers(port))) {
    if (hasEnded(server) || performance.now() - startedAt > DEADLINE_MS) {
      await stop();
      throw new Error(`redis-server did not start on port ${String(port)}:\n${log}`);
    }
    await sleep(10);
  }
  if (server.pid === undefined || hasEnded(server)) throw new Error(`another server answers on port ${String(port)}`);
  return { host: '127.0.0.1', port, url: `redis://127.0.0.1:${String(port)}`, pid: server.pid, stop };
}

function hasEnded(server: ChildProcess): boolean {
  return server.exitCode !== null || server.signalCode !== null;
}

/** A port that nobody listens on at the moment. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

async function answers(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => socket.write('PING\r\n'));
    socket.setTimeout(1000);
    const end = (answered: boolean): void => {
      socket.destroy();
      resolve(answered);
    };
    socket.on('data', (data) => {
      end(data.toString().startsWith('+PONG'));
    });
    socket.on('error', () => {
      end(false);
    });
    socket.on('timeout', () => {
      end(false);
    });
  });
}

/** The binary that scripts/test-tools.mjs found or made. */
function serverPath(): string {
  const named = process.env['REDIS_SERVER'];
  if (named !== undefined && named !== '') return named;
  const folders = (process.env['PATH'] ?? '').split(delimiter);
  const onPath = ['redis-server', 'valkey-server'].flatMap((name) => folders.map((folder) => join(folder, name)));
  const found = [...onPath, ...cached(fileURLToPath(import.meta.url))].find((path) => existsSync(path));
  if (found === undefined)
    throw new Error('no redis-server or valkey-server: run `node scripts/test-tools.mjs`, or set REDIS_SERVER');
  return found;
}

/** Where test-tools.mjs keeps what it makes: in the root's node_modules, wherever below it this file lies. */
function* cached(path: string): Generator<string> {
  for (let folder = dirname(path); folder !== dirname(folder); folder = dirname(folder)) {
    yield join(folder, 'node_modules/.cache/sluice/redis-server');
  }
}
