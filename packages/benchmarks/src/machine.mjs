import { cpus, totalmem } from 'node:os';
import { isPinned } from './processes/cores.mjs';
import { startServer } from './processes/redis.mjs';

/** The machine of the figures: what a reader needs to judge them, without names of hosts or paths. */
export async function describeMachine() {
  const server = await startServer();
  const info = await server.admins[0].info('server');
  await server.stop();
  const all = cpus();
  return {
    cpu: (all[0]?.model ?? 'unknown').trim(),
    cores: all.length,
    memoryGb: Math.round(totalmem() / 2 ** 30),
    os: `${process.platform} ${process.arch}`,
    node: process.versions.node,
    redis: /^(?:valkey|redis)_version:(\S+)/m.exec(info)?.[1] ?? 'unknown',
    pinned: isPinned,
  };
}
