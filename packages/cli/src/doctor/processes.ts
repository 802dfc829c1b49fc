import type { Values } from '../project/values.ts';
import type { Findings } from './finding.ts';
import type { Deployment } from './signs.ts';
import { calledName, type Use } from './uses.ts';

/** Limits that each process counts for itself, where a sign shows several. */
export function checkProcesses(findings: Findings, values: Values, uses: readonly Use[], deployment: Deployment): void {
  const anywhere = deployment.processesAnywhere;
  for (const use of uses) {
    const own = deployment.signsAt(use.place.file.path).processes;
    const where = storeOf(values, use);
    const sign = own ?? anywhere;
    if (sign === undefined || where === 'shared') continue;
    if (where === 'memory' && own !== undefined) {
      findings.mistake(
        'memory-of-each-process',
        use.place,
        `counts in the memory of each process, and several run (${own}): together they allow the limit times their number`,
        'store: redisStore(process.env.REDIS_URL)',
      );
    } else {
      findings.toCheck(
        'memory-of-each-process',
        use.place,
        `several processes run (${sign}), and the text does not show ${where === 'memory' ? 'whether of this application' : 'where this limiter counts'}`,
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
