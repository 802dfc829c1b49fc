import { createPolicies } from '@sluice/core/managed';
import { fixedWindow, type Duration } from '@sluice/express';
import { openDatabase } from './database.ts';

const [limit, window] = process.argv.slice(2);
const database = openDatabase(process.env['DATABASE_URL']);
try {
  const policy = fixedWindow({ limit: Number(limit), window: window as Duration }); // which checks both
  await database.createTable();
  const { change } = await createPolicies(database.source).put('orders', policy, { apps: ['shop'] });
  console.log(`orders: ${change}`);
} finally {
  await database.close();
}
