// The parts that differ by runtime, on Node.js: `#platform` in the imports of package.json.
import type { Cluster } from 'node:cluster';

// Modules of Node are loaded where they are needed: `node:cluster` brings twenty others.

/** Whether this process is a worker of `node:cluster`: one of several processes with a memory each. */
export function isClusterWorker(): boolean {
  return process.send !== undefined && (process.getBuiltinModule('node:cluster') as unknown as Cluster).isWorker;
}

/** Whether `import(name)` would find a package; undefined where that is not known: a bundle may hold it. */
export function isInstalled(name: string): boolean | undefined {
  const url: unknown = import.meta.url;
  if (typeof url !== 'string' || !/\/dist\/platform-node\.c?js$/.test(url)) return undefined;
  try {
    process.getBuiltinModule('node:module').createRequire(url).resolve(name);
    return true;
  } catch {
    return false;
  }
}
