// The parts that differ by runtime, on Node.js: `#platform` in the imports of package.json.
import * as cluster from 'node:cluster';
import { createRequire } from 'node:module';

/** Whether this process is a worker of `node:cluster`: one of several processes with a memory each. */
export const isClusterWorker: boolean = cluster.default.isWorker;

/** Whether `import(name)` would find a package; undefined where that is not known: a bundle may hold it. */
export function isInstalled(name: string): boolean | undefined {
  const url: unknown = import.meta.url;
  if (typeof url !== 'string' || !/\/dist\/platform-node\.c?js$/.test(url)) return undefined;
  try {
    createRequire(url).resolve(name);
    return true;
  } catch {
    return false;
  }
}
