// import and require load the same copy of Sluice, and a limiter of one entry point is known to all others.
import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import * as core from '@sluice/core';
import * as http from '@sluice/core/http';
import * as express from '@sluice/express';

const require = createRequire(import.meta.url);
assert.equal(require('@sluice/core').createLimiter, core.createLimiter);
assert.equal(require('@sluice/core/http').Place, http.Place);
assert.equal(require('@sluice/express').createLimiter, core.createLimiter);
for (const path of ['http', 'managed', 'metrics', 'spi', 'split', 'testing']) {
  const [imported, required] = [await import(`@sluice/core/${path}`), require(`@sluice/core/${path}`)];
  assert.deepEqual(Object.keys(imported).sort(), Object.keys(required).sort());
}

const store = core.memoryStore();
const limiter = core.createLimiter({ name: 'shop', policy: core.fixedWindow({ limit: 1, window: '1m' }), store });
assert.equal(express.rateLimit({ limiter }).limiter, limiter);
assert.equal(require('@sluice/express').rateLimit({ limiter }).limiter, limiter);
assert.throws(() => require('@sluice/express').rateLimit({ name: 'shop', limit: 1, window: '1m', store }), {
  code: 'SLUICE_LIMITER_NAME_TAKEN',
});
assert.throws(() => core.fixedWindow({ limit: -1, window: '1m' }), require('@sluice/core').PolicyError);
