import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import type { RequestListener } from 'node:http';
import { tmpdir } from 'node:os';
import { join as joinPath } from 'node:path';
import { expect, it } from '@jest/globals';
import { until, useClosing, useServers } from '@sluice/testkit';
import { endpointSlicesMembership } from '../src/endpoint-slices-membership.ts';
import { join, latest } from './joined.ts';

// A stub of the API server answers here, as the documentation of Kubernetes describes it: there is no real one.
const PATH =
  '/apis/discovery.k8s.io/v1/namespaces/shop/endpointslices?labelSelector=kubernetes.io%2Fservice-name%3Dgateways';
const [serve, closing] = [useServers(), useClosing()];
let token = 'first';
let items: object[] = [];
const answer: RequestListener = ({ url, headers }, response) => {
  const status = url !== PATH ? 404 : headers.authorization === `Bearer ${token}` ? 200 : 401;
  response.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify({ items }));
};

const endpoint = (name: string, ready?: boolean | null) => ({
  addresses: ['10.0.0.1'],
  conditions: ready === undefined ? {} : { ready },
  targetRef: { kind: 'Pod', name },
});

it('has the ready pods of a service as members, and follows its token when it is renewed', async () => {
  const folder = mkdtempSync(joinPath(tmpdir(), 'sluice-token-'));
  closing(() => {
    rmSync(folder, { recursive: true });
  });
  const tokenFile = joinPath(folder, 'token');
  writeFileSync(tokenFile, `${token}\n`);
  items = [
    { addressType: 'IPv4', endpoints: [endpoint('gw-a', true), endpoint('gw-b', false), endpoint('gw-c')] },
    { addressType: 'IPv6', endpoints: [endpoint('gw-a', true), endpoint('gw-d', null)] },
    { addressType: 'IPv4', endpoints: null },
  ];
  const url = `http://127.0.0.1:${String((await serve(answer)).port)}`;
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
