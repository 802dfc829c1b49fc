// One of several gateways: its limit is the managed policy `api` in Consul's key-value store, split over the instances
// of the service `gateways`, which register themselves. Every response names the gateway, and the instant by its clock.
import { createServer } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { consulSource } from '../../../examples/consul-policies/dist/consul-source.js';
import { createLimiter } from '../../../packages/core/dist/index.js';
import { createPolicies, managed } from '../../../packages/core/dist/managed.js';
import { consulMembership, splitStore } from '../../../packages/core/dist/split.js';

const { ADDRESS: address, ID: id, WEIGHT, PORT, TTL_MS, CHECK_TTL_MS } = process.env;
const put = (path, body) => fetch(`${address}/v1/agent/${path}`, { method: 'PUT', body: JSON.stringify(body) });
await put('service/register', {
  ...{ ID: id, Name: 'gateways', Address: '127.0.0.1', Port: Number(PORT) },
  Weights: { Passing: Number(WEIGHT), Warning: 1 },
  Check: { CheckID: `service:${id}`, TTL: `${CHECK_TTL_MS}ms`, Status: 'passing' },
});
setInterval(() => void put(`check/pass/service:${id}`).catch(console.error), CHECK_TTL_MS / 3);
const membership = consulMembership({ address, service: 'gateways', id, ttlMs: Number(TTL_MS) });
const store = splitStore({ membership });
const limiter = createLimiter({
  policy: managed('api'),
  app: 'gateway',
  policies: createPolicies(consulSource({ address })),
  store,
  onStoreError: 'deny',
});

// Its policy has to be known before its share can be due.
while (!/^(allowed|denied)$/.test((await limiter.peek('start')).outcome)) await sleep(20);
await store.ready();
const server = createServer(async (_request, response) => {
  const { allowed, atMs, limit } = await limiter.consume('all');
  response.writeHead(allowed ? 200 : 429, { 'X-Gateway': id, 'X-Decided-At': atMs, 'X-Limit': limit ?? 0 }).end();
});
server.listen(Number(PORT), '127.0.0.1', () => console.log('ready'));
