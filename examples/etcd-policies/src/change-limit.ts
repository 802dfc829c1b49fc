import { createPolicies } from '@sluice/core/managed';
import { fixedWindow, type Duration } from '@sluice/express';
import { etcdSource } from './etcd-source.ts';

const [limit, window] = process.argv.slice(2);
const policies = createPolicies(etcdSource(process.env['ETCD']));
const policy = fixedWindow({ limit: Number(limit), window: window as Duration }); // which checks both
const { change } = await policies.put('orders', policy, { apps: ['shop'] });
console.log(`orders: ${change}`);
await policies.close();
