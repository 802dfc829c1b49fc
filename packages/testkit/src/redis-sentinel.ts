import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Redis } from 'ioredis';
import { connectTo } from './connect-to.ts';
import { freePort } from './free-port.ts';
import { leastPrivilege, STORE_USER } from './least-privilege.ts';
import { newFolder, type RunningProgram } from './program.ts';
import { startRedis, startServer, type RedisServer } from './redis-server.ts';
import { until } from './until.ts';

/** A primary and a replica, watched by three Sentinels of which two must agree. */
export interface RedisSentinel {
  /** The name of the primary at the Sentinels. */
  readonly name: 'main';
  readonly sentinels: readonly { readonly host: '127.0.0.1'; readonly port: number }[];
  /** First the one that started as the primary. */
  readonly servers: readonly RedisServer[];
  /** Sends kill -9 to the primary, and waits until every Sentinel names another one, which reports that role itself. */
  killPrimary(): Promise<void>;
  stop(): Promise<void>;
}

const NAME = 'main';
/** The time after which a Sentinel treats a silent server as dead. */
const DOWN_AFTER_MS = 800;

/** Starts them, and waits until every Sentinel knows the others and the replica. */
export async function startSentinel(): Promise<RedisSentinel> {
  const servers: RedisServer[] = [];
  const clients: Redis[] = [];
  const watchers: { process: RunningProgram; client: Redis; port: number }[] = [];
  const stop = async (): Promise<void> => {
    for (const client of [...clients, ...watchers.map((watcher) => watcher.client)]) client.disconnect();
    await Promise.all([...watchers.map(({ process }) => process), ...servers].map((server) => server.stop()));
  };
  try {
    const first = await startRedis(['--repl-diskless-sync-delay', '0']);
    servers.push(first);
    const follow = ['--replicaof', `127.0.0.1 ${String(first.port)}`];
    servers.push(await startRedis(['--repl-diskless-sync-delay', '0', ...follow]));
    clients.push(...servers.map(({ url }) => connectTo(url)));
    for (let i = 0; i < 3; i++) {
      const [port, folder] = [await freePort(), newFolder('sentinel')];
      const config = join(folder, 'sentinel.conf');
      writeFileSync(config, writeConfig(port, folder, first.port));
      const process = await startServer([config, '--sentinel'], port, folder);
      watchers.push({ process, port, client: connectTo(`redis://127.0.0.1:${String(port)}`) });
    }
    await until('the Sentinels know each other and the replica', async () => {
      const reports = await Promise.all(watchers.map(({ client }) => client.info('sentinel')));
      return reports.every((report) =>
        report.includes(`status=ok,address=127.0.0.1:${String(first.port)},slaves=1,sentinels=3`),
      );
    });
    await until('the replica follows', async () =>
      (await clients[1]?.info('replication'))?.includes('master_link_status:up'),
    );
  } catch (error) {
    await stop();
    throw error;
  }

  /** The primary, when all Sentinels agree. */
  const named = async (): Promise<RedisServer | undefined> => {
    const answers = await Promise.all(
      watchers.map(({ client }) => client.call('SENTINEL', 'GET-MASTER-ADDR-BY-NAME', NAME) as Promise<string[]>),
    );
    const ports = new Set(answers.map(([, port]) => Number(port)));
    return ports.size === 1 ? servers.find(({ port }) => ports.has(port)) : undefined;
  };
  return {
    name: NAME,
    sentinels: watchers.map(({ port }) => ({ host: '127.0.0.1', port })),
    servers,
    async killPrimary() {
      const killed = await until('the Sentinels agree', named);
      await killed.kill();
      await until('the Sentinels name another primary', async () => {
        const server = await named();
        if (server === undefined || server === killed) return false;
        return (await clients[servers.indexOf(server)]?.info('replication'))?.includes('role:master');
      });
    },
    stop,
  };
}

function writeConfig(port: number, folder: string, primaryPort: number): string {
  return [
    `port ${String(port)}`,
    'bind 127.0.0.1',
    `dir ${folder}`,
    `sentinel monitor ${NAME} 127.0.0.1 ${String(primaryPort)} 2`,
    `sentinel down-after-milliseconds ${NAME} ${String(DOWN_AFTER_MS)}`,
    `sentinel failover-timeout ${NAME} 3000`,
    `user ${STORE_USER.name} on >${STORE_USER.password} ${leastPrivilege.sentinel}`,
    '',
  ].join('\n');
}
