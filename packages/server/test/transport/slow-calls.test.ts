import type { ClientHttp2Stream } from 'node:http2';
import { expect, it } from '@jest/globals';
import { until, useClosing } from '@sluice/testkit';
import { GrpcClient } from '../rls/grpc-client.ts';
import { PATHS } from '../rls/protocol.ts';
import { serve, type Served } from '../serve.ts';

const LIMITS = `
domain: shop
descriptors: [{ key: user, rate_limit: { unit: day, requests_per_unit: 1000 } }]
limits: { login: { fixedWindow: { limit: 1000, window: 1h } } }
forward_auth: { trusted_proxies: [127.0.0.1], rules: [{ policy: { fixedWindow: { limit: 1000, window: 1h } } }] }
`;
const CALL = { ':method': 'POST', ':path': PATHS.rateLimit, 'content-type': 'application/grpc' };

const closing = useClosing();

function open(served: Served, localAddress = '127.0.0.1'): GrpcClient {
  return closing(new GrpcClient(served.port('grpc'), { localAddress }));
}

const begin = ({ session }: GrpcClient): ClientHttp2Stream => session.request(CALL).on('error', () => undefined);

it('calls whose messages do not come hold no place of others, whatever these call', async () => {
  const served = closing(await serve(LIMITS, { grpc: 0, admin: 0, maxInFlight: 4 }));
  const client = open(served);
  let ended = 0;
  for (let i = 0; i < 40; i++)
    begin(client)
      .on('close', () => ended++)
      .write('\0');
  await until('they have begun', () => client.session.state.localWindowSize !== undefined);
  const keys = { keys: { login: 'ann' } };

  expect(await open(served).check()).toBe('SERVING');
  expect((await served.request('/healthcheck')).status).toBe(200);
  expect((await served.request('/auth/orders', { headers: { 'x-forwarded-for': '203.0.113.1' } })).status).toBe(200);
  expect((await served.post('consume', keys)).status).toBe(200);
  expect(ended).toBe(0);
});

it('clients that begin calls without end have at most what is left for others, who are answered', async () => {
  const served = closing(await serve(LIMITS, { grpc: 0 }));
  for (const [address, share] of [
    ['127.0.0.2', 1_024],
    ['127.0.0.3', 512],
  ] as const) {
    let denied = 0;
    for (let i = 0; i < 11; i++) {
      const client = open(served, address);
      for (let calls = 0; calls < 100; calls++) {
        begin(client).on('response', (fields) => (denied += fields['grpc-status'] === '8' ? 1 : 0));
      }
    }
    await until('those beyond its share are turned away', () => denied === 1_100 - share);
  }

  expect(await open(served).check()).toBe('SERVING');
});

it('incomplete messages of a client take its share of memory, and others are answered', async () => {
  const served = closing(await serve(LIMITS, { grpc: 0 }));
  const most = Buffer.concat([Buffer.from([0, 0, 63, 255, 255]), Buffer.alloc(1_000_000)]);
  const codes: unknown[] = [];
  for (let i = 0; i < 20; i++) {
    begin(open(served, '127.0.0.2'))
      .on('response', (fields) => codes.push(fields['grpc-status']))
      .write(most);
  }
  await until('one is turned away', () => codes.length > 0);

  expect(new Set(codes)).toEqual(new Set(['8']));
  expect(await open(served).check()).toBe('SERVING');
});
