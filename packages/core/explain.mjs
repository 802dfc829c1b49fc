import { sqlServers } from '../testkit/dist/sql-servers.js';
import { mysqlStore } from '@sluice/core/mysql';
import { createPool } from 'mysql2/promise';
import { fixedWindow } from '@sluice/core';
const server = await sqlServers.mariadb();
const pool = createPool(server.url);
const store = mysqlStore(pool, { prefix: 'b' });
const policy = fixedWindow({ limit: 1000, window: '1h' });
for (let i = 0; i < 40; i++) await Promise.all(Array.from({ length: 100 }, (_, j) => store.perform('take', [{ key: `{k${i}-${j}}:a`, policy, cost: 1 }])));
const keys = `json_table('[{"k":"6162","t":null}]', '$[*]' columns (i for ordinality, k varchar(4096) path '$.k', t mediumtext path '$.t')) as asked`;
const news = `json_table('[{"k":"6162","t":"f1","e":5}]', '$[*]' columns (k varchar(4096) path '$.k', t mediumtext path '$.t', e bigint path '$.e')) as new`;
for (const q of [
`update sluice as kept join ${news} on kept.k = unhex(new.k) set kept.text = ifnull(new.t, ''), kept.expires_at = new.e`,
`update ${news} straight_join sluice as kept on kept.k = unhex(new.k) set kept.text = ifnull(new.t, ''), kept.expires_at = new.e`,
`delete kept from sluice as kept join ${keys} on kept.k = unhex(asked.k) where kept.text = ''`,
`delete kept from ${keys} straight_join sluice as kept on kept.k = unhex(asked.k) where kept.text = ''`,
`delete kept from (select k from sluice where expires_at < 5 limit 4 for update skip locked) as ended join sluice as kept on kept.k = ended.k`,
]) { const [rows] = await pool.query('explain ' + q); console.log(q.slice(0, 60)); console.table(rows.map(({ table, type, key, rows, Extra }) => ({ table, type, key, rows, Extra }))); }
await pool.end(); await server.stop();
