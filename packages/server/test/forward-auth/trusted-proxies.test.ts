import { describe, expect, it } from '@jest/globals';
import { TrustedProxies } from '@sluice/old-http/spi';
import { cases, testSeed } from '@sluice/testkit';
import fc from 'fast-check';
import { peerOf } from '../../src/forward-auth/peer.ts';

describe('the client in a list of addresses', () => {
  it('is found in any list, as by a search from the end', () => {
    const proxies = new TrustedProxies(['10.0.0.0/8', '2001:db8::/32'], 'trusted_proxies');
    const isProxy = (address: string): boolean => address.startsWith('10.') || address.startsWith('2001:db8:');
    const entry = fc.constantFrom('10.0.0.1', '10.255.0.1', '2001:db8::1', '203.0.113.1', '2001:db9::1', 'unknown', '');

    fc.assert(
      fc.property(
        fc.array(entry, { minLength: 1, maxLength: 6 }),
        fc.constantFrom(',', ', ', ' ,\t'),
        (entries, comma) => {
          const last = entries.findLastIndex((address) => !isProxy(address));
          const expected = entries[Math.max(last, 0)];

          expect(proxies.clientOf('10.0.0.1', entries.join(comma))).toBe(expected);
        },
      ),
      { numRuns: cases(500), seed: testSeed(3) },
    );
  });
});

describe('the peer of a connection', () => {
  const socket = (fields: object): never => ({ destroyed: false, ...fields }) as never;

  it('is the loopback on a Unix socket, and unknown once it has left', () => {
    expect(peerOf(socket({ remoteAddress: '::1', localAddress: '::1' }))).toBe('::1');
    expect(peerOf(socket({}))).toBe('127.0.0.1');
    expect(peerOf(socket({ destroyed: true }))).toBeUndefined();
    expect(peerOf(socket({ localAddress: '10.0.0.1' }))).toBeUndefined();
  });
});
