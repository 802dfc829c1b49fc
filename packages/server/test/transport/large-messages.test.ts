import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { exchange } from '@sluice/testkit';
import { encodeRequest } from '../rls/protocol.ts';
import { GrpcClient, frameOf } from '../rls/grpc-client.ts';
import { serve, type Served } from '../serve.ts';

const RULES = Array.from(
  { length: 100 },
  (_one, i) => `- { key: k, value: '*a*b*${String(i)}*', rate_limit: { unit: hour, requests_per_unit: 9 } }`,
);
const LIMITS = `
domain: edge
descriptors: [${RULES.map((rule) => rule.slice(2)).join(', ')}, { key: v, rate_limit: { unit: hour, requests_per_unit: 9 } }]
limits: { login: { fixedWindow: { limit: 5, window: 1m } } }
forward_auth: { trusted_proxies: [127.0.0.1, 10.0.0.0/8], rules: [{ match: { paths: ['/a*b*c*', '/*/x/*'] }, policy: { fixedWindow: { limit: 5, window: 1m } } }] }
`;
const MIB = 1_048_576;
const MAX_BODY = 65_536;
/** A quiet machine takes less than 50; one whose cores are shared, three times as long. What takes a time that grows faster than the message, takes seconds. */
const MAX_MS = 150;
const list = (length: number, text: string): string => new Array<string>(length).fill(text).join(',');
const json = (path: string, body: string): string =>
  `POST ${path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: ${String(Buffer.byteLength(body))}\r\n\r\n${body}`;
const auth = (target: string, ...fields: readonly string[]): string =>
  `GET /auth HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nX-Forwarded-Uri: ${target}\r\n${fields.map((field) => `${field}\r\n`).join('')}\r\n`;
const policies = list(300, '{"algorithm":"slidingWindow","limit":100,"windowMs":60000,"precisionMs":600}');

let served: Served;
beforeAll(async () => {
  served = await serve(LIMITS, { grpc: 0 });
});
afterAll(() => served.close());

/**
 * The longest turn of the event loop while the service answers, in ms of this process's CPU, whatever else the machine does:
 * of several runs the shortest.
 */
async function longestTurn(send: () => Promise<unknown>): Promise<number> {
  const runs: number[] = [];
  for (let run = 0; run < 5; run++) {
    let [lastMs, longestMs, hasEnded] = [cpuMs(), 0, false];
    const look = (): void => {
      const nowMs = cpuMs();
      longestMs = Math.max(longestMs, nowMs - lastMs);
      lastMs = nowMs;
      if (!hasEnded) setImmediate(look);
    };
    look();
    await send();
    hasEnded = true;
    runs.push(longestMs);
  }
  return Math.min(...runs);
}

function cpuMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
}

async function call(message: Buffer): Promise<void> {
  const client = new GrpcClient(served.port('grpc'));
  await client.call({ chunks: [frameOf(message)] });
  client.close();
}

describe('a large message', () => {
  it.each(
    Object.entries<() => string>({
      'nested lists': () => json('/json', '['.repeat(MAX_BODY)),
      'thousands of fields': () =>
        json('/json', `{${Array.from({ length: 6_000 }, (_one, i) => `"k${String(i)}":1`).join()}}`),
      'as many entries as it holds': () =>
        json(
          '/json',
          `{"domain":"edge","descriptors":[${list(38, `{"entries":[${list(60, '{"key":"k","value":"aabb"}')}]}`)}]}`,
        ),
      keys: () => json('/v1/consume', `{"keys":{"login":"${'\\u0000'.repeat(10_000)}"}}`),
      policies: () =>
        json('/v1/decide', `{"policies":[${policies}],"requests":[{"op":"take","asks":[["{a}:l",0,1]]}]}`),
      requests: () =>
        json(
          '/v1/decide',
          `{"policies":[{"algorithm":"slidingWindow","limit":100,"windowMs":60000,"precisionMs":600,"name":"p"}],"requests":[${Array.from({ length: 900 }, (_one, i) => `{"op":"take","asks":[["{k${String(i)}}:l",0,1],["{k${String(i)}}:m",0,1]]}`).join()}]}`,
        ),
      'a path of many readings': () => auth(`/${'%2e%2e/a//b%2f'.repeat(4_000)}`, 'X-Forwarded-For: 203.0.113.1'),
      'a path of stars': () => auth(`/${'aab'.repeat(20_000)}`, 'X-Forwarded-For: 203.0.113.1'),
      'a way over many proxies': () => auth('/a', `X-Forwarded-For: ${list(6_000, '10.0.0.1')}`),
    }),
  )('of HTTP delays others by some milliseconds: %s', async (_what, request) => {
    const bytes = request();
    expect(await longestTurn(() => exchange(served.port('http'), bytes))).toBeLessThan(MAX_MS);
  });

  it.each(
    Object.entries<() => Buffer>({
      'as many texts as it holds': () =>
        encodeRequest({
          domain: 'edge',
          descriptors: Array.from({ length: 256 }, (_one, i) => ({
            entries: [{ key: 'v', value: `${String(i)}${'é'.repeat(4_000)}` }],
          })),
        }),
      'values against patterns': () =>
        encodeRequest({
          domain: 'edge',
          descriptors: Array.from({ length: 256 }, () => ({ entries: [{ key: 'k', value: 'ab'.repeat(4_000) }] })),
        }),
      'unknown fields': () => Buffer.alloc(4 * MIB - 2, Buffer.from([0x78, 0x01])),
    }),
  )('of gRPC delays others by some milliseconds: %s', async (_what, message) => {
    const bytes = message();
    expect(await longestTurn(() => call(bytes))).toBeLessThan(MAX_MS);
  });
});
