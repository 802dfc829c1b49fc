// What differs by runtime, on Node.js: `#platform` in the imports of package.json.
import * as cluster from 'node:cluster';

/** Whether this process is a worker of `node:cluster`: one of several processes with a memory each. */
export const isClusterWorker: boolean = cluster.default.isWorker;
