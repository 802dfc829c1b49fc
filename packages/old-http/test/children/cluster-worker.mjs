// A primary and its workers: each makes two limiters, and prints which warnings that gave it.
import cluster from 'node:cluster';
import { once } from 'node:events';
import { setImmediate } from 'node:timers';
import { createLimiter, fixedWindow, memoryStore, redisStore, silenceWarnings } from '@sluice/old-core';

const policy = fixedWindow({ limit: 5, window: '1m' });
const role = process.env.ROLE ?? 'primary';

const codes = [];
process.removeAllListeners('warning'); // those that print
process.on('warning', ({ code }) => codes.push(code));

const client = { evalsha: async () => '', eval: async () => '' };
const store = role === 'worker with redis' ? redisStore(client, { prefix: 'sluice' }) : memoryStore();
if (role.includes('silenced')) silenceWarnings('SLUICE_MEMORY_IN_CLUSTER');
createLimiter({ name: 'first', policy, store });
createLimiter({ name: 'second', policy, store });

setImmediate(async () => {
  process.stdout.write(`${role}: ${codes.join(' ') || 'none'}\n`, () => {
    if (cluster.isWorker) process.exit();
  });
  if (!cluster.isPrimary) return;
  for (const worker of [
    'worker with memory',
    'worker with memory',
    'worker with redis',
    'worker with memory, silenced',
  ]) {
    await once(cluster.fork({ ROLE: worker }), 'exit');
  }
});
