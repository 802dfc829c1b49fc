import core = require('@sluice/core');
import adapter = require('@sluice/express');
import testing = require('@sluice/core/testing');

const policy: core.Policy = core.fixedWindow({ limit: 1, window: '1m' });
const limiter: core.Limiter = core.createLimiter({ policy });
// A limiter of core is one of the adapter.
export const middleware: unknown = adapter.rateLimit({ limiter });
testing.describeStore('in memory', (clock) => core.memoryStore({ clock }));
