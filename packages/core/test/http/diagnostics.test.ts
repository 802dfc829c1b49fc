import { beforeEach, describe, expect, it, jest } from '@jest/globals';
import { fixedWindow } from '@sluice/core';
import { plainFramework, sending, type PlainFramework, type PlainRequest } from './plain-framework.ts';

const warnings: [code: string, message: string][] = [];
jest.spyOn(process, 'emitWarning').mockImplementation((message, options) => {
  warnings.push([(options as { code: string }).code, String(message)]);
});
beforeEach(() => {
  warnings.length = 0;
});

const policy = fixedWindow({ limit: 5, window: '1h' });
const forwarded = (address: string, client: string, field: string): PlainRequest => ({
  ...{ address: client, headers: { 'x-forwarded-for': field } },
  socket: { remoteAddress: address, destroyed: false },
});
const thrower = (): never => {
  throw new Error('unknown hop');
};

/** Sends requests through an application; returns the codes of the warnings. */
async function warnedOf(framework: Partial<PlainFramework>, ...requests: PlainRequest[]): Promise<string[]> {
  const send = sending({ policy, key: () => 'k' }, { ...plainFramework, ...framework });
  for (const request of requests) await send(request);
  return warnings.map(([code]) => code);
}

// A warning is given once in a process: what gives none comes first.
describe('an application', () => {
  it.each([undefined, 'loopback', (address: string) => address === '10.0.0.1', thrower])(
    'that trusts certain proxies is not warned of: %p',
    async (trust) => {
      expect(await warnedOf({ proxyTrust: () => trust }, {}, {})).toEqual([]);
    },
  );

  it.each<[unknown, string[]]>([
    [() => true, ['SLUICE_PROXY_TRUSTS_ALL']],
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
    await warnedOf({}, {}, forwarded('fd00::1', 'fd00::1', '203.0.113.7'));

    expect(warnings).toEqual([
      ['SLUICE_PROXY_NOT_TRUSTED', expect.stringContaining('a request came from fd00::1 with X-Forwarded-For')],
    ]);
  });
});
