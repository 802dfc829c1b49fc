import { line, type Line } from './line.ts';
import type { Run } from './run.ts';
import { count } from './table.ts';

/** Who decides, and how to have the limits shared. */
export function storeLines({ storeLabel, onRedis, decisions }: Run): readonly Line[] {
  if (!onRedis) {
    return [
      line('Store: the memory of this process (source "memory").'),
      line('Limits that several processes share: REDIS_URL=redis://127.0.0.1:6379 npm start', 'dim'),
    ];
  }
  const [there, here] = [decisions.decidedBy('redis'), decisions.decidedBy('local')];
  return [
    line(`Store: ${storeLabel} (source "redis"): ${count(there)} decisions; in local memory: ${count(here)}.`),
    decisions.latestSource === 'local'
      ? line('Redis does not answer: until it does, this process decides alone, by the same rules.', 'red')
      : line('Start a second one to see the limits shared: both together get what one alone would.', 'dim'),
  ];
}
