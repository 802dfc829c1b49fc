// A process that consumes as fast as it can, and prints a dot for each request that is allowed. argv: the database, its URL.
import { writeSync } from 'node:fs';
import { createPool } from 'mysql2/promise';
import { Pool } from 'pg';
import { createLimiter, fixedWindow, slidingLog, tokenBucket } from '../../src/index.ts';
import { mysqlStore } from '../../src/mysql/index.ts';
import { postgresStore } from '../../src/postgres/index.ts';

const [, , database, url = ''] = process.argv;
const options = { prefix: 'race' };
const store =
  database === 'postgres'
    ? postgresStore(new Pool({ connectionString: url }), options)
    : mysqlStore(createPool(url), options);
const limiter = createLimiter({
  limits: [
    { name: 'window', policy: fixedWindow({ limit: 500, window: '1h' }) },
    { name: 'log', policy: slidingLog({ limit: 300, window: '1h' }) },
    { name: 'bucket', policy: tokenBucket({ capacity: 400, refill: 1, every: '1h' }) },
  ],
  ...{ store, onStoreError: 'throw', timeoutMs: 30_000, denialCache: false },
});

const keys = { window: 'ann', log: 'bob', bucket: 'cid' };
let isDenied = false;
while (!isDenied) {
  const decisions = await Promise.all(Array.from({ length: 3 }, () => limiter.consume(keys)));
  writeSync(1, '.'.repeat(decisions.filter(({ allowed }) => allowed).length));
  isDenied = decisions.every(({ allowed }) => !allowed);
}
process.exit();
