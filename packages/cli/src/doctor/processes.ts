import type { Values } from '../project/values.ts';
import type { Findings } from './finding.ts';
import type { Signs } from './signs.ts';
import { calledName, type Use } from './uses.ts';

/** Limits that each process counts for itself, where a sign shows several. */
export function checkProcesses(findings: Findings, values: Values, uses: readonly Use[], { processes }: Signs): void {
  if (processes === undefined) return;
  for (const use of uses) {
    const where = storeOf(values, use);
    if (where === 'memory') {
      findings.mistake(
        'memory-of-each-process',
        use.place,
        `counts in the memory of each process, and several run (${processes}): together they allow the limit times their number`,
        'store: redisStore(process.env.REDIS_URL)',
      );
    } else if (where === 'unknown') {
      findings.toCheck(
        'memory-of-each-process',
        use.place,
        `several processes run (${processes}), and the text does not show where this limiter counts`,
        'a store that all processes share: redisStore(process.env.REDIS_URL)',
      );
    }
  }
}

/** Where a limiter counts. Inner limits have the store of what is around them, which is told of itself. */
function storeOf(values: Values, { maker, options }: Use): 'memory' | 'shared' | 'unknown' {
  if (maker === 'store' || options?.of.has('limiter') === true) return 'shared';
  const store = options?.of.get('store');
  if (store === undefined) return maker === 'inner' ? 'shared' : options?.areAll === true ? 'memory' : 'unknown';
  const made = calledName(values, values.valueOf(store));
  return made === 'memoryStore' ? 'memory' : made === undefined ? 'unknown' : 'shared';
}
