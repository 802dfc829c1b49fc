import { createPolicies, fixedWindow, type Duration } from '@sluice/express';
import { APP, LIMIT, sourceOf } from './settings.ts';

const [limit = '', window = ''] = process.argv.slice(2);
if (window === '') {
  console.error('Usage: change-limit.js LIMIT WINDOW, such as: change-limit.js 100 1m');
  process.exit(1);
}

const policies = createPolicies(sourceOf(process.env));
const policy = fixedWindow({ limit: Number(limit), window: window as Duration }); // which checks both
const { change } = await policies.put(LIMIT, policy, { apps: [APP] });
console.log(`${LIMIT}: ${change}`);
await policies.close();
