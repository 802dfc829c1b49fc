import { existsSync, readFileSync } from 'node:fs';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { expect, it } from '@jest/globals';
import { freePort } from '@sluice/testkit';

const RANGE = '/proc/sys/net/ipv4/ip_local_port_range';

it('a free port is one that the system gives to no connection and to no other server', async () => {
  const [first] = existsSync(RANGE) ? readFileSync(RANGE, 'utf8').split('\t').map(Number) : [49_152];

  expect(await freePort()).toBeLessThan(first as number);
});

it('each call returns another port, and none where something listens', async () => {
  const taken = await freePort();
  const server = createServer().listen(taken, '127.0.0.1');
  await once(server, 'listening');
  const ports: number[] = [];
  for (let i = 0; i < 1000; i++) ports.push(await freePort());
  const again: number[] = [];
  for (let i = 0; i < 1000; i++) again.push(await freePort());
  server.close();

  expect(new Set(ports).size).toBe(1000);
  expect([...ports, ...again]).not.toContain(taken);
});
