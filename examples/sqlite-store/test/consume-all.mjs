// A process that consumes as long as it may: prints how many requests were allowed. `node consume-all.mjs FILE`
import { createLimiter, fixedWindow } from '@sluice/core';
import { openDatabase } from '../dist/open-database.js';
import { sqliteStore } from '../dist/sqlite-store.js';

const database = await openDatabase(process.argv[2]);
const store = sqliteStore(database, { busyTimeoutMs: 60_000 });
const policy = fixedWindow({ limit: 300, window: '1h' });
const limiter = createLimiter({ name: 'api', policy, store, onStoreError: 'throw', timeoutMs: 60_000 });
let allowed = 0;
while ((await limiter.consume('key')).allowed) allowed++;
console.log(allowed);
database.close();
