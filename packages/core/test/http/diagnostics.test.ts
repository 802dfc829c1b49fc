import { describe, expect, it } from '@jest/globals';
import { fixedWindow } from '@sluice/core';
import { useWarnings } from '../use-warnings.ts';
import { plainFramework, sending, type PlainFramework, type PlainRequest } from './plain-framework.ts';

const warnings = useWarnings();

const policy = fixedWindow({ limit: 5, window: '1h' });
const forwarded = (address: string, client: string, field: string): PlainRequest => ({
  ...{ address: client, headers: { 'x-forwarded-for': field } },
  socket: { remoteAddress: address, destroyed: false },
});
const thrower = (): never => {
  throw new Error('unknown hop');
};

/** Sends requests through an application; returns the warnings. */
async function warnedOf(framework: Partial<PlainFramework>, ...requests: PlainRequest[]): Promise<readonly string[]> {
  const send = sending({ policy, key: () => 'k' }, { ...plainFramework, ...framework });
  for (const request of requests) await send(request);
  return warnings;
}

// A warning is given once in a process: what gives none comes first.
describe('an application', () => {
  it.each([undefined, 'loopback', (address: string) => address === '10.0.0.1', thrower])(
    'that trusts certain proxies is not warned of: %p',
    async (trust) => {
      expect(await warnedOf({ proxyTrust: () => trust }, {}, {})).toEqual([]);
    },
  );

  it.each<[unknown, unknown[]]>([
    [() => true, [expect.stringContaining('SLUICE_PROXY_TRUSTS_ALL')]],
    [true, []],
  ])('that trusts all proxies is warned of once: %p', async (trust, expected) => {
    expect(await warnedOf({ proxyTrust: () => trust }, {}, {})).toEqual(expected);
  });

  it.each<[string, PlainRequest]>([
    ['the client of the proxy has an address', forwarded('10.0.0.1', '203.0.113.7', '203.0.113.7')],
    ['the proxy sends a request of its own', forwarded('10.0.0.1', '10.0.0.1', '203.0.113.7, 10.0.0.1')],
    ['the peer has a public address', forwarded('203.0.113.1', '203.0.113.1', '203.0.113.7')],
    ['the peer has a public IPv6 address', forwarded('2001:db8::1', '2001:db8::1', '203.0.113.7')],
    ['the peer is next to a private range', forwarded('172.32.0.1', '172.32.0.1', '203.0.113.7')],
    ['the socket is gone', { ...forwarded('10.0.0.1', '10.0.0.1', '203.0.113.7'), socket: { destroyed: true } }],
  ])('that trusts no proxy is not warned of if %s', async (_why, request) => {
    expect(await warnedOf({}, request)).toEqual([]);
  });

  it('that does not trust its proxy is warned of, with the address', async () => {
    expect(await warnedOf({}, {}, forwarded('fd00::1', 'fd00::1', '203.0.113.7'))).toEqual([
      expect.stringMatching(/^SLUICE_PROXY_NOT_TRUSTED: .*a request came from fd00::1 with X-Forwarded-For/),
    ]);
  });
});
