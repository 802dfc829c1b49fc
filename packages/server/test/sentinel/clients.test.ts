import { once } from 'node:events';
import { describe, expect, it } from '@jest/globals';
import { redisStore } from '@sluice/core';
import { until, useClosing, useRedis } from '@sluice/testkit';
import type { Served } from '../serve.ts';
import { flow, ping } from './frames.ts';
import { SentinelClient } from './sentinel-client.ts';
import { limitsOf, serveSentinel } from './sentinel-service.ts';

const [OK, BLOCKED] = [0, 1];
const PER_CLIENT = limitsOf([{ flowId: 101, count: 10, thresholdType: 0 }]);

const redis = useRedis();
const closing = useClosing();

async function start(client?: typeof redis.client, yaml = PER_CLIENT): Promise<Served> {
  const options = client === undefined ? {} : { store: redisStore(client, { prefix: 'sluice' }) };
  return closing(await serveSentinel(yaml, options));
}

async function pinged(service: Served, namespace = 'checkout'): Promise<SentinelClient> {
  const client = await SentinelClient.connect(service);
  await client.ask(ping(namespace));
  return client;
}

async function connected(client: SentinelClient): Promise<number | undefined> {
  const [answer] = await client.ask(ping('checkout'));
  return answer?.numbers[0];
}

describe('a threshold per client', () => {
  it('is the count times the connected clients of the namespace', async () => {
    const service = await start();
    const client = await pinged(service);
    await pinged(service);
    await pinged(service, 'search');

    expect(await client.ask(flow(1, 101, 20), flow(2, 101, 1))).toEqual([
      { xid: 1, type: 1, status: OK, numbers: [0, 0] },
      { xid: 2, type: 1, status: BLOCKED, numbers: [0, 0] },
    ]);
  });

  it('is raised by maxClients at most, however many connect', async () => {
    const yaml = limitsOf([{ flowId: 101, count: 10, thresholdType: 0 }], 'maxClients: 2');
    const service = await start(undefined, yaml);
    const [client] = await Promise.all(Array.from({ length: 50 }, () => pinged(service)));

    expect(await client?.status(flow(1, 101, 21))).toBe(BLOCKED);
    expect(await client?.status(flow(2, 101, 20))).toBe(OK);
  });

  it('counts the clients of all replicas on one Redis, and those of one that ends no more', async () => {
    const one = await start(redis.client);
    const two = await start(redis.client);
    const here = await pinged(one);
    const there = await pinged(two);
    await pinged(two);
    await until('each knows all three', async () => (await connected(here)) === 3 && (await connected(there)) === 3);

    // Denied, a request takes nothing: it can be sent until each process knows of the others again.
    await until('the units of all three are had', async () => (await here.status(flow(1, 101, 30))) === OK);
    expect(await there.status(flow(1, 101, 1))).toBe(BLOCKED);

    await two.close();
    await until('only one is left', async () => (await connected(here)) === 1);
  });

  it('forgets the clients of a replica that dies', async () => {
    const one = await start(redis.client);
    const here = await pinged(one);
    const client = redis.client.duplicate();
    const dying = await start(client);
    await pinged(dying);
    await until('both are known', async () => (await connected(here)) === 2);

    client.disconnect(); // it can say nothing more

    await until('its clients have expired', async () => (await connected(here)) === 1);
  });
});

describe('a listener of Sentinel that ends', () => {
  it('ends its connections at once, so that clients connect to another', async () => {
    const service = await serveSentinel(limitsOf([{ flowId: 101, count: 5 }]), { drainMs: 60_000 });
    const client = await SentinelClient.connect(service);
    await client.ask(flow(1, 101));
    const ended = once(client.socket, 'end');

    await service.close();

    await ended;
    expect(client.answers).toHaveLength(1);
  });
});
