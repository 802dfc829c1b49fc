// Both copies of the built package in one process: as ES modules, and as CommonJS, whose file is named here, because
// Node.js loads the same copy for both. Each makes two limiters.
//
// argv: which of them makes the first, `esm` or `cjs`
import { createRequire } from 'node:module';
import * as esm from '@sluice/old-core';

const require = createRequire(import.meta.url);
const copies = { esm, cjs: require('../../dist/index.cjs') };
const [first] = process.argv.slice(2);
const warnings = [];
process.on('warning', ({ code }) => warnings.push(code));

for (const name of [first, first === 'esm' ? 'cjs' : 'esm']) {
  const { createLimiter, fixedWindow } = copies[name];
  for (const which of ['one', 'other']) {
    createLimiter({ name: `${name}-${which}`, policy: fixedWindow({ limit: 1, window: '1h' }) });
  }
  await new Promise(setImmediate);
  warnings.push(name);
}
process.stdout.write(
  JSON.stringify({
    sameModule: copies.esm.createLimiter === copies.cjs.createLimiter,
    sameByRequire: copies.esm.createLimiter === require('@sluice/old-core').createLimiter,
    warnings,
  }),
);
