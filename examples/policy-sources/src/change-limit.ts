import { createPolicies } from '@sluice/core/managed';
import { fixedWindow, type Duration } from '@sluice/express';
import { openSource } from './open-source.ts';

const [limit, window] = process.argv.slice(2);
const opened = openSource(process.env);
try {
  const policy = fixedWindow({ limit: Number(limit), window: window as Duration }); // which checks both
  await opened.createTable?.();
  const { change } = await createPolicies(opened.source).put('orders', policy, { apps: ['shop'] });
  console.log(`orders: ${change}`);
} finally {
  await opened.close?.();
}
