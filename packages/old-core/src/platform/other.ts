// The parts that differ by runtime, on all others than Node.js: `#platform` in the imports of package.json.
import type * as node from './node.ts';

export const isClusterWorker: typeof node.isClusterWorker = () => false;

export const isInstalled: typeof node.isInstalled = () => undefined;
