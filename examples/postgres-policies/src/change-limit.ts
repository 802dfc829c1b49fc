import { fixedWindow, type Duration } from '@sluice/express';
import { createPolicies } from '@sluice/core/managed';
import { APP, LIMIT, messageOf, openDatabase } from './settings.ts';

const [limit = '', window = ''] = process.argv.slice(2);
if (window === '') {
  console.error('Usage: change-limit.js LIMIT WINDOW, such as: change-limit.js 100 1m');
  process.exit(1);
}

const database = openDatabase(process.env);
try {
  const policy = fixedWindow({ limit: Number(limit), window: window as Duration }); // which checks both
  await database.createTable();
  const { change } = await createPolicies(database.source).put(LIMIT, policy, { apps: [APP] });
  console.log(`${LIMIT}: ${change}`);
} catch (error) {
  console.error(messageOf(error));
  process.exitCode = 1;
} finally {
  await database.close();
}
