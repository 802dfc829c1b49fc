import { PolicyError, shown } from '../errors.ts';
import { liveLimiters, remember, type LiveLimiter } from '../observe/live-limiters.ts';
import { warnOnce } from '../warnings.ts';

/**
 * Names are compared as header fields compare them: without regard to case.
 *
 * @throws PolicyError `SLUICE_LIMITER_NAME_TAKEN` if another limiter of the store has the name, unless both write it alike
 * and set `shared`.
 */
export function checkNameIsFree({ name, store, shared }: LiveLimiter): void {
  for (const other of liveLimiters()) {
    if (other.store !== store || other.name.toLowerCase() !== name.toLowerCase()) continue;
    if (shared && other.shared && other.name === name) continue;
    const taken = `this store already has a limiter named ${shown(other.name)}, got ${shown(name)}`;
    const instead = 'give this one another name, or to share the counts write shared: true and the same name on both';
    throw new PolicyError('name', `${taken}; ${instead}`, 'SLUICE_LIMITER_NAME_TAKEN');
  }
}

/** Fewer limiters that were dropped may be those of tests. */
const MANY = 10;
let droppedCount = 0;

/** Lists a limiter. Warns if many are dropped and never closed whose counts are lost with them. */
export function useName(limiter: LiveLimiter, ownsMemory: boolean): void {
  remember(limiter, ownsMemory ? dropped.bind(undefined, limiter.name) : undefined);
}

function dropped(name: string): void {
  if (++droppedCount !== MANY) return;
  const what = `${String(MANY)} limiters with their own memory, the last one named ${name}, were created and dropped without being closed`;
  warnOnce(
    'SLUICE_LIMITER_PER_REQUEST',
    `${what}: what they counted is lost. A limiter that is created for each request never denies one. Create it once, outside the handler.`,
  );
}
