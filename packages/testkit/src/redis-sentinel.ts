import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Redis } from 'ioredis';
import { connectTo } from './connect-to.ts';
import { freePort } from './free-port.ts';
import { leastPrivilege, STORE_USER } from './least-privilege.ts';
import { newFolder } from './program.ts';
import { startRedis, startServer } from './redis-server.ts';
import { until } from './until.ts';

/** A primary and a replica, watched by a Sentinel. How several agree is not ours to test. */
export interface RedisSentinel {
  /** The name of the primary at the Sentinel. */
  readonly name: 'main';
  readonly sentinels: readonly { readonly host: '127.0.0.1'; readonly port: number }[];
  /** Sends kill -9 to the primary, and waits until the Sentinel names the replica, which reports that role itself. */
  killPrimary(): Promise<void>;
  stop(): Promise<void>;
}

const NAME = 'main';
/** The time after which the Sentinel treats a silent server as dead. */
const DOWN_AFTER_MS = 800;

/** Starts them, and waits until the Sentinel knows the replica. */
export async function startSentinel(): Promise<RedisSentinel> {
  const clients: Redis[] = [];
  const running: { stop(): Promise<void> }[] = [];
  const stop = async (): Promise<void> => {
    for (const client of clients) client.disconnect();
    await Promise.all(running.map((one) => one.stop()));
  };
  const start = async (...args: readonly string[]) => {
    const server = await startRedis(['--repl-diskless-sync-delay', '0', ...args]);
    running.push(server);
    const client = connectTo(server.url);
    clients.push(client);
    return { server, client };
  };
  try {
    const { server: primary } = await start();
    const { server, client: replica } = await start('--replicaof', `127.0.0.1 ${String(primary.port)}`);
    const [port, folder] = [await freePort(), newFolder('sentinel')];
    const config = join(folder, 'sentinel.conf');
    writeFileSync(config, writeConfig(port, folder, primary.port));
    running.push(await startServer([config, '--sentinel'], port, folder));
    const watcher = connectTo(`redis://127.0.0.1:${String(port)}`);
    clients.push(watcher);
    await until('the Sentinel knows the replica', async () =>
      (await watcher.info('sentinel')).includes(`status=ok,address=127.0.0.1:${String(primary.port)},slaves=1`),
    );
    await until('the replica follows', async () =>
      (await replica.info('replication')).includes('master_link_status:up'),
    );
    return {
      name: NAME,
      sentinels: [{ host: '127.0.0.1', port }],
      async killPrimary() {
        await primary.kill();
        await until('the Sentinel names the replica', async () => {
          const named = (await watcher.call('SENTINEL', 'GET-MASTER-ADDR-BY-NAME', NAME)) as string[];
          return named[1] === String(server.port) && (await replica.info('replication')).includes('role:master');
        });
      },
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

function writeConfig(port: number, folder: string, primaryPort: number): string {
  return [
    `port ${String(port)}`,
    'bind 127.0.0.1',
    `dir ${folder}`,
    `sentinel monitor ${NAME} 127.0.0.1 ${String(primaryPort)} 1`,
    `sentinel down-after-milliseconds ${NAME} ${String(DOWN_AFTER_MS)}`,
    `sentinel failover-timeout ${NAME} 3000`,
    `user ${STORE_USER.name} on >${STORE_USER.password} ${leastPrivilege.sentinel}`,
    '',
  ].join('\n');
}
