import { writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { connect as connectTls } from 'node:tls';
import { freePort } from './free-port.ts';
import { leastPrivilege, STORE_USER } from './least-privilege.ts';
import { findProgram, newFolder, startProgram, type RunningProgram } from './program.ts';
import { tlsFixture } from './tls-fixture.ts';

/** A Redis server of one test file, on a private port of the loopback. */
export interface RedisServer extends Omit<RunningProgram, 'restart'> {
  readonly host: '127.0.0.1';
  readonly port: number;
  /** As the default user, with all rights. */
  readonly url: string;
  /**
   * As a user with {@link leastPrivilege} on `sluice:*`: for the stores under test.
   */
  readonly storeUrl: string;
  /** Stops it (SIGSTOP): connections stay open, without replies. */
  pause(): void;
  /** Lets it continue, with the commands sent meanwhile. */
  resume(): void;
  /**
   * Starts it again on the same port with the same arguments, killing it first if it still runs. It is then empty,
   * unless its arguments or files preserve data.
   */
  restart(): Promise<void>;
}

export interface RedisServerOptions {
  /** Whether it only speaks TLS, with the certificate of {@link tlsFixture}. */
  tls?: boolean;
}

/**
 * Starts a real server, without persistence, and waits until it answers. It ends with this process at the latest.
 *
 * @param args - Further arguments, such as `['--maxmemory', '10mb']`.
 */
export async function startRedis(
  args: readonly string[] = [],
  { tls = false }: RedisServerOptions = {},
): Promise<RedisServer> {
  const [port, folder] = [await freePort(), newFolder('redis')];
  const config = join(folder, 'users.conf'); // users cannot be given as arguments
  const { name, password, keys } = STORE_USER;
  const rights = args.includes('--cluster-enabled') ? leastPrivilege.cluster : leastPrivilege.server;
  writeFileSync(config, `user ${name} on >${password} ${keys} ${rights}\n`);
  const all = [
    config,
    ...(tls ? ['--port', '0', '--tls-port', String(port), ...TLS] : ['--port', String(port)]),
    ...['--bind', '127.0.0.1', '--save', '', '--appendonly', 'no', '--dir', folder],
    ...args,
  ];
  const server = await startServer(all, port, folder, tls);
  const { restart } = server;
  const at = `127.0.0.1:${String(port)}`;
  const scheme = tls ? 'rediss' : 'redis';
  return Object.assign(server, {
    ...{ host: '127.0.0.1' as const, port },
    url: `${scheme}://${at}`,
    storeUrl: `${scheme}://${name}:${password}@${at}`,
    pause() {
      process.kill(server.pid, 'SIGSTOP');
    },
    resume() {
      process.kill(server.pid, 'SIGCONT');
    },
    restart: () => restart(),
  });
}

const TLS = [
  ...['--tls-cert-file', tlsFixture.certFile, '--tls-key-file', tlsFixture.keyFile],
  ...['--tls-ca-cert-file', tlsFixture.caFile, '--tls-auth-clients', 'no'],
];

/** Starts a server or Sentinel process, and waits until it replies to PING. */
export async function startServer(
  args: readonly string[],
  port: number,
  folder: string,
  tls = false,
): Promise<RunningProgram> {
  const path = findProgram('redis-server', 'valkey-server');
  if (path === undefined)
    throw new Error('no redis-server or valkey-server: run `node scripts/setup/test-tools.mjs`, or set REDIS_SERVER');
  return startProgram(path, args, () => answersPing(port, tls), { folder });
}

/** Whether it replies to PING that it is ready. */
async function answersPing(port: number, tls: boolean): Promise<boolean> {
  const socket = tls
    ? connectTls({ port, host: '127.0.0.1', ca: tlsFixture.ca })
    : connect({ port, host: '127.0.0.1' });
  socket.setTimeout(5_000, () => socket.destroy());
  socket.write('PING\r\n');
  for await (const reply of socket) return String(reply).startsWith('+PONG');
  return false;
}
