import { createPolicies } from '@sluice/core/managed';
import { fixedWindow, type Duration } from '@sluice/express';
import { consulSource } from './consul-source.ts';

const [limit, window] = process.argv.slice(2);
const { CONSUL_HTTP_ADDR, CONSUL_HTTP_TOKEN } = process.env;
const policies = createPolicies(consulSource({ address: CONSUL_HTTP_ADDR, token: CONSUL_HTTP_TOKEN }));
const policy = fixedWindow({ limit: Number(limit), window: window as Duration }); // which checks both
const { change } = await policies.put('orders', policy, { apps: ['shop'] });
console.log(`orders: ${change}`);
await policies.close();
