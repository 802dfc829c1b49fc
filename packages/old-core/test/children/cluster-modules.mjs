// Tells its parent which modules of node:cluster the built package has loaded, once a limiter counts in memory.
import { createLimiter, fixedWindow } from '@sluice/old-core';

for (const path of ['inspect', 'kernels', 'spi']) await import(`@sluice/old-core/${path}`);
const onImport = loaded();
createLimiter({ policy: fixedWindow({ limit: 1, window: '1m' }) });
process.send({ onImport, afterwards: loaded() }, () => process.disconnect());

function loaded() {
  return process.moduleLoadList.filter((name) => name.includes('cluster')).join();
}
