import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Redis } from 'ioredis';
import { connectTo } from './connect-to.ts';
import { freePort } from './free-port.ts';
import { leastPrivilege, STORE_USER } from './least-privilege.ts';
import { startProcess, type RedisProcess } from './redis-process.ts';
import { startRedis, type RedisServer } from './redis-server.ts';
import { isOrphaned } from './replication.ts';
import { until } from './until.ts';

/** A primary and its replicas, watched by three Sentinels of which two must agree. */
export interface RedisSentinel {
  /** The name of the primary at the Sentinels. */
  readonly name: 'main';
  readonly sentinels: readonly { readonly host: '127.0.0.1'; readonly port: number }[];
  /** First the one that started as the primary. */
  readonly servers: readonly RedisServer[];
  /** A connection to a server, as its default user. */
  adminOf(server: RedisServer): Redis;
  /** The primary according to the Sentinels. */
  primary(): Promise<RedisServer>;
  /**
   * Sends kill -9 to the primary, and waits until every Sentinel names another one, which reports that role itself.
   *
   * @param meanwhile - Awaited first: the replicas have lost their primary, and none has taken over yet.
   */
  killPrimary(
    meanwhile?: (replicas: readonly RedisServer[]) => Promise<void>,
  ): Promise<{ promoted: RedisServer; killed: RedisServer }>;
  stop(): Promise<void>;
}

export interface RedisSentinelOptions {
  /** Default 1. */
  replicas?: number;
  /** The time after which a Sentinel treats a silent server as dead. Default 800. */
  downAfterMs?: number;
}

const NAME = 'main';

/** Starts them, and waits until every Sentinel knows the others and the replicas. */
export async function startSentinel(options: RedisSentinelOptions = {}): Promise<RedisSentinel> {
  const { replicas = 1, downAfterMs = 800 } = options;
  const folder = mkdtempSync(join(tmpdir(), 'sluice-sentinel-'));
  const servers: RedisServer[] = [];
  const clients: Redis[] = [];
  const watchers: { process: RedisProcess; client: Redis; port: number }[] = [];
  const stop = async (): Promise<void> => {
    for (const client of [...clients, ...watchers.map((watcher) => watcher.client)]) client.disconnect();
    await Promise.all([...watchers.map(({ process }) => process.kill()), ...servers.map((server) => server.stop())]);
    rmSync(folder, { recursive: true, force: true });
  };
  try {
    const first = await startRedis(['--repl-diskless-sync-delay', '0']);
    servers.push(first);
    const follow = ['--replicaof', `127.0.0.1 ${String(first.port)}`];
    for (let i = 0; i < replicas; i++) servers.push(await startRedis(['--repl-diskless-sync-delay', '0', ...follow]));
    clients.push(...servers.map(({ url }) => connectTo(url)));
    for (let i = 0; i < 3; i++) {
      const port = await freePort();
      const config = join(folder, `${String(port)}.conf`);
      writeFileSync(config, configOf(port, folder, first.port, downAfterMs));
      const process = await startProcess([config, '--sentinel'], port);
      watchers.push({ process, port, client: connectTo(`redis://127.0.0.1:${String(port)}`) });
    }
    await until('the Sentinels know each other and the replicas', async () => {
      const reports = await Promise.all(watchers.map(({ client }) => client.info('sentinel')));
      return reports.every((report) =>
        report.includes(`status=ok,address=127.0.0.1:${String(first.port)},slaves=${String(replicas)},sentinels=3`),
      );
    });
    await until('the replicas follow', async () => {
      const reports = await Promise.all(clients.slice(1).map((client) => client.info('replication')));
      return reports.every((report) => report.includes('master_link_status:up'));
    });
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
  const adminOf = (server: RedisServer): Redis => clients[servers.indexOf(server)] as Redis;
  const primary = (): Promise<RedisServer> => until('the Sentinels agree', named);
  return {
    name: NAME,
    sentinels: watchers.map(({ port }) => ({ host: '127.0.0.1', port })),
    servers,
    adminOf,
    primary,
    async killPrimary(meanwhile = async () => {}) {
      const killed = await primary();
      await killed.kill();
      const replicas = servers.filter((server) => server !== killed);
      await until('the replicas miss their primary', async () =>
        (await Promise.all(replicas.map((server) => isOrphaned(adminOf(server))))).every(Boolean),
      );
      await meanwhile(replicas);
      const promoted = await until('the Sentinels name another primary', async () => {
        const server = await named();
        if (server === undefined || server === killed) return false;
        return (await adminOf(server).info('replication')).includes('role:master') && server;
      });
      return { promoted, killed };
    },
    stop,
  };
}

function configOf(port: number, folder: string, primaryPort: number, downAfterMs: number): string {
  return [
    `port ${String(port)}`,
    'bind 127.0.0.1',
    `dir ${folder}`,
    `sentinel monitor ${NAME} 127.0.0.1 ${String(primaryPort)} 2`,
    `sentinel down-after-milliseconds ${NAME} ${String(downAfterMs)}`,
    `sentinel failover-timeout ${NAME} 3000`,
    `user ${STORE_USER.name} on >${STORE_USER.password} ${leastPrivilege.sentinel}`,
    '',
  ].join('\n');
}
