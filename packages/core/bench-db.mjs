import { createLimiter, slidingWindow, fixedWindow } from '@sluice/core';
import { postgresStore } from '@sluice/core/postgres';
import { mysqlStore } from '@sluice/core/mysql';
import { createRequire } from 'node:module';
import { sqlServers } from '../testkit/dist/sql-servers.js';
import pg from 'pg';
import { createPool } from 'mysql2/promise';
import mysql2 from 'mysql2';
const require = createRequire(new URL('../benchmarks/package.json', import.meta.url));
const { RateLimiterPostgres, RateLimiterMySQL } = require('rate-limiter-flexible');
const which = process.argv[2];
const server = await sqlServers[which]();
const make = {
  async ours() {
    const store = which === 'postgres' ? postgresStore(new pg.Pool({ connectionString: server.url, max: 10 }), { prefix: 'b', durable: true }) : mysqlStore(createPool(server.url), { prefix: 'b' });
    const limiter = createLimiter({ policy: fixedWindow({ limit: 1e6, window: '1h' }), store, timeoutMs: 5000, onStoreError: 'throw' });
    return (key) => limiter.consume(key);
  },
  async theirs() {
    const storeClient = which === 'postgres' ? new pg.Pool({ connectionString: server.url, max: 10 }) : mysql2.createPool(server.url);
    const limiter = await new Promise((resolve, reject) => {
      const done = (e) => e ? reject(e) : resolve(l);
      const C = which === 'postgres' ? RateLimiterPostgres : RateLimiterMySQL;
      const l = new C({ storeClient, points: 1e6, duration: 3600, tableName: 'flexible', dbName: which === 'postgres' ? undefined : 'sluice' }, (e) => e ? reject(e) : resolve(l));
    });
    return (key) => limiter.consume(key);
  },
};
const fns = { ours: await make.ours(), theirs: await make.theirs() };
const keys = Array.from({ length: 10_000 }, (_, i) => `user-${i}`);
async function lone(fn, n) { const t = performance.now(); for (let i = 0; i < n; i++) await fn(keys[(i * 7919) % 5_000]); return (performance.now() - t) / n * 1000; }
async function flight(fn, n) {
  const c = process.cpuUsage(); const t = performance.now(); let i = 0;
  await Promise.all(Array.from({ length: 64 }, async () => { while (i < n) await fn(keys[(i++ * 7919) % 10_000]); }));
  const u = process.cpuUsage(c);
  return { us: (performance.now() - t) / n * 1000, cpu: (u.user + u.system) / n };
}
for (const f of Object.values(fns)) { await lone(f, 300); await flight(f, 3000); }
for (let r = 0; r < 5; r++) for (const [name, f] of Object.entries(fns)) {
  const l = await lone(f, 500); const x = await flight(f, 6000);
  console.log(which, name, 'lone us', l.toFixed(0), 'flight us', x.us.toFixed(1), 'cpu us', x.cpu.toFixed(1));
}
await server.stop(); process.exit();
