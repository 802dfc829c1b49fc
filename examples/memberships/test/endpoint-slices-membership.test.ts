import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join as joinPath } from 'node:path';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { until } from '@sluice/testkit';
import { endpointSlicesMembership } from '../src/endpoint-slices-membership.ts';
import { join, latest } from './joined.ts';

// A stub of the API server answers here, as the documentation of Kubernetes describes it: there is no real one.
const PATH =
  '/apis/discovery.k8s.io/v1/namespaces/shop/endpointslices?labelSelector=kubernetes.io%2Fservice-name%3Dgateways';
const folder = mkdtempSync(joinPath(tmpdir(), 'sluice-token-'));
const tokenFile = joinPath(folder, 'token');
let token = 'first';
let items: object[] = [];
const server = createServer(({ url, headers }, response) => {
  const status = url !== PATH ? 404 : headers.authorization === `Bearer ${token}` ? 200 : 401;
  response.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify({ items }));
});
beforeAll(async () => {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
});
afterAll(() => {
  server.close();
  server.closeAllConnections();
  rmSync(folder, { recursive: true });
});

const endpoint = (name: string, ready?: boolean | null) => ({
  addresses: ['10.0.0.1'],
  conditions: ready === undefined ? {} : { ready },
  targetRef: { kind: 'Pod', name },
});

it('has the ready pods of a service as members, and follows its token when it is renewed', async () => {
  writeFileSync(tokenFile, `${token}\n`);
  items = [
    { addressType: 'IPv4', endpoints: [endpoint('gw-a', true), endpoint('gw-b', false), endpoint('gw-c')] },
    { addressType: 'IPv6', endpoints: [endpoint('gw-a', true), endpoint('gw-d', null)] },
    { addressType: 'IPv4', endpoints: null },
  ];
  const url = `http://127.0.0.1:${String((server.address() as AddressInfo).port)}`;
  const joined = join(
    endpointSlicesMembership({ namespace: 'shop', service: 'gateways', pod: 'gw-a', url, tokenFile }),
  );
  await until('it is answered', () => latest(joined) === '{"gw-a":1,"gw-c":1,"gw-d":1}');
  token = 'second';
  await until('its token is denied', () =>
    joined.errors.includes('Kubernetes answered 401 for the slices of gateways'),
  );
  writeFileSync(tokenFile, token);
  items = [{ addressType: 'IPv4', endpoints: [endpoint('gw-a', true)] }];

  await until('it is answered again', () => latest(joined) === '{"gw-a":1}');
  await joined.leave();
  expect(joined.seen[0]).toEqual({ 'gw-a': 1, 'gw-c': 1, 'gw-d': 1 });
});
