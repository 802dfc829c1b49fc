import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from './free-port.ts';
import { leastPrivilege, STORE_USER } from './least-privilege.ts';
import { startProcess, type RedisProcess, type Sign } from './redis-process.ts';
import { tlsFixture } from './tls-fixture.ts';

/** A Redis server of one test file, on a private port of the loopback. */
export interface RedisServer {
  readonly host: '127.0.0.1';
  readonly port: number;
  /** As the default user, with all rights. */
  readonly url: string;
  /**
   * As a user with {@link leastPrivilege} on `sluice:*`: for the stores under test.
   */
  readonly storeUrl: string;
  /** Changes with a restart. */
  readonly pid: number;
  /** Stops it (SIGSTOP): connections stay open, without replies. */
  pause(): void;
  /** Lets it continue, with the commands sent meanwhile. */
  resume(): void;
  /** Kill -9. It can be started again. */
  kill(): Promise<void>;
  /**
   * Starts it again on the same port with the same arguments, killing it first where it still runs. It is then empty,
   * unless its arguments or files make it remember.
   */
  restart(options?: RestartOptions): Promise<void>;
  /** Ends it by its process id, in any state. */
  stop(): Promise<void>;
}

export interface RestartOptions {
  /** Further arguments, this time. */
  args?: readonly string[];
  /** The reply to wait for. Default `+PONG`: until it is ready. */
  until?: Sign;
}

export interface RedisServerOptions {
  /** Whether it speaks TLS alone, with the certificate of {@link tlsFixture}. */
  tls?: boolean;
}

const ATTEMPTS = 5;

/**
 * Starts a real server, without persistence, and waits until it answers. It ends with this process at the latest.
 *
 * @param args - Further arguments, such as `['--maxmemory', '10mb']`.
 */
export async function startRedis(args: readonly string[] = [], options: RedisServerOptions = {}): Promise<RedisServer> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await startOn(await freePort(), args, options);
    } catch (error) {
      if (attempt === ATTEMPTS) throw error; // another process can take the port between the check and the start
    }
  }
}

async function startOn(
  port: number,
  args: readonly string[],
  { tls = false }: RedisServerOptions,
): Promise<RedisServer> {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-redis-'));
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
  const forget = (): void => {
    rmSync(folder, { recursive: true, force: true });
  };
  let server: RedisProcess;
  try {
    server = await startProcess(all, port, { tls });
  } catch (error) {
    forget();
    throw error;
  }
  const scheme = tls ? 'rediss' : 'redis';
  return {
    host: '127.0.0.1',
    port,
    url: `${scheme}://127.0.0.1:${String(port)}`,
    storeUrl: `${scheme}://${name}:${password}@127.0.0.1:${String(port)}`,
    get pid() {
      return server.pid;
    },
    pause() {
      process.kill(server.pid, 'SIGSTOP');
    },
    resume() {
      process.kill(server.pid, 'SIGCONT');
    },
    kill: () => server.kill(),
    async restart({ args: more = [], until = '+PONG' } = {}) {
      await server.kill();
      server = await startProcess([...all, ...more], port, { tls, sign: until });
    },
    async stop() {
      await server.kill();
      forget();
    },
  };
}

const TLS = [
  ...['--tls-cert-file', tlsFixture.certFile, '--tls-key-file', tlsFixture.keyFile],
  ...['--tls-ca-cert-file', tlsFixture.caFile, '--tls-auth-clients', 'no'],
];
