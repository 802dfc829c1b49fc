// import and require load the same copy of Sluice, and a limiter of one entry point is known to all others.
import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import * as core from '@sluice/old-core';
import * as http from '@sluice/old-http/spi';
import * as express from '@sluice/express';

const require = createRequire(import.meta.url);
assert.equal(require('@sluice/old-core').createLimiter, core.createLimiter);
assert.equal(require('@sluice/old-http/spi').Layer, http.Layer);
assert.equal(require('@sluice/express').createLimiter, core.createLimiter);
for (const path of ['inspect', 'kernels', 'metrics', 'spi']) {
  const [imported, required] = [await import(`@sluice/old-core/${path}`), require(`@sluice/old-core/${path}`)];
  assert.deepEqual(Object.keys(imported).sort(), Object.keys(required).sort());
}

const store = core.memoryStore();
const limiter = core.createLimiter({ name: 'shop', policy: core.fixedWindow({ limit: 1, window: '1m' }), store });
assert.equal(express.rateLimit({ limiter }).limiter, limiter);
assert.equal(require('@sluice/express').rateLimit({ limiter }).limiter, limiter);
assert.throws(() => require('@sluice/express').rateLimit({ name: 'shop', limit: 1, window: '1m', store }), {
  code: 'SLUICE_LIMITER_NAME_TAKEN',
});
assert.throws(() => core.fixedWindow({ limit: -1, window: '1m' }), require('@sluice/old-core').PolicyError);
