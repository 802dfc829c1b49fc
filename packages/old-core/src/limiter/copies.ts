import { warnOnce } from '../warnings.ts';

const FIRST = Symbol.for('@sluice/old-core');
/** Stands for this copy of the package. Without properties: test runners empty other objects on the global one. */
const OWN = {};

/**
 * Warns where another copy of the package has made limiters in this process. Node.js loads one for `import` and
 * `require`; a tool that cannot `require` an ES module loads two, and so do two versions.
 */
export function warnOfCopies(): void {
  const shared = globalThis as Record<symbol, unknown>;
  if ((shared[FIRST] ??= OWN) === OWN) return;
  warnOnce(
    'SLUICE_SEVERAL_COPIES',
    'this process has loaded @sluice/core more than once, and each copy knows neither the limiters nor the names and metrics of the others: load it either with import or with require, and in one version.',
  );
}
