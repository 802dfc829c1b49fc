// Hands in a limiter of another copy of core, that of CommonJS, whose file is named here because Node.js loads the same copy
// for both. Prints why that is no limiter.
import { createRequire } from 'node:module';
import { createEnforcer } from '@sluice/http/spi';

const { createLimiter, fixedWindow } = createRequire(import.meta.url)('../../../core/dist/index.cjs');
const limiter = createLimiter({ policy: fixedWindow({ limit: 1, window: '1h' }) });
try {
  createEnforcer({ limiter }, {});
} catch ({ message }) {
  console.log(message);
}
