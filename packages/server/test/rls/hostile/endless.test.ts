import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { cases } from '@sluice/testkit';
import { METHODS, encodeRequest, type RequestFields } from '../protocol.ts';
import { frameOf } from '../raw-call.ts';
import { ask, connect, descriptor } from '../running-service.ts';
import { Attacker } from './attacker.ts';
import * as h2 from './frames.ts';
import { startServiceProcess, type ServiceProcess } from './service-process.ts';

const LIMITS = `
domain: shop
descriptors:
  - key: user
    rate_limit: { unit: second, requests_per_unit: 1 }
`;
/** What the process may keep of two thousand requests with 8 kB each, in MiB. */
const MOST_KEPT = 6;
const LONG = 'x'.repeat(8_000);
const BLOCK = h2.fieldBlock(h2.callFields(METHODS.shouldRateLimit.path));
const AT_ONCE = 100;
/** What a client may send on a connection before the service has read it: the window that HTTP/2 begins with. */
const WINDOW = 65_535;
const WARM_UP = 500;

/** Requests that are never the same, by their number. */
const KINDS: readonly (readonly [string, (i: number) => RequestFields])[] = [
  ['values', (i) => ({ domain: 'shop', descriptors: [descriptor(`user=${String(i)}-${LONG}`)] })],
  [
    'limits of their own',
    (i) => ({
      domain: 'shop',
      descriptors: [descriptor('user=y', { limit: { requestsPerUnit: i, unit: 1 + (i % 6) } })],
    }),
  ],
];

describe('a service', () => {
  let service: ServiceProcess;
  beforeAll(async () => {
    service = await startServiceProcess(LIMITS);
  });
  afterAll(async () => {
    expect(await service.close()).toBe(0);
  });

  /** Calls for each number, on one connection, without waiting for each. */
  const callAll = async (from: number, to: number, requestOf: (i: number) => RequestFields): Promise<void> => {
    const client = await Attacker.connect(service.grpc);
    const window = h2.frame(h2.TYPE.windowUpdate, 0, 0, Buffer.from([0x7f, 0xff, 0, 0]));
    await client.write(Buffer.concat([h2.PREFACE, h2.settings(), window]));
    for (let i = from; i < to; i += AT_ONCE) {
      const calls = Array.from({ length: AT_ONCE }, (_, at) =>
        h2.callFrames(2 * (i - from + at) + 1, BLOCK, frameOf(encodeRequest(requestOf(i + at)))),
      );
      const inWindow = Math.floor(WINDOW / Math.max(...calls.map((call) => call.length)));
      for (let at = 0; at < calls.length; at += inWindow) {
        expect(await client.write(Buffer.concat(calls.slice(at, at + inWindow)))).toBe(true);
        expect(await client.answered(i - from + Math.min(at + inWindow, AT_ONCE))).toBe(true);
      }
    }
    client.close();
  };

  it.each(KINDS)('keeps little of requests with ever new %s', async (_what, requestOf) => {
    const other = connect(service.grpc);
    const served = async (): Promise<string> =>
      (await ask(other, { domain: 'shop', descriptors: [descriptor('nothing=x')] })).overallCode;
    const count = cases(4_000);
    await callAll(0, WARM_UP, requestOf);
    await served();
    const before = await service.memory();
    await callAll(WARM_UP, WARM_UP + count, requestOf);

    expect(await served()).toBe('OK');
    expect((await service.memory()).used - before.used).toBeLessThan(MOST_KEPT);
    const json = await fetch(`http://127.0.0.1:${String(service.http)}/json`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ domain: 'shop', descriptors: [{}] }),
    });
    expect(json.status).toBe(200);
    other.close();
  });
});
