import { describe, expect, it } from '@jest/globals';
import { fixedWindow } from '@sluice/core';
import { byHeader, byIp } from '@sluice/core/http';
import { cases, testSeed } from '@sluice/testkit';
import fc from 'fast-check';
import { ClientList } from '../../../src/http/keys/client-list.ts';
import { sending, statusesOf } from '../plain-framework.ts';
import { addresses, dotted, isIpv4, spellings, type Groups } from './any-address.ts';

describe('a list of clients', () => {
  it.each([
    ['10.1.2.3', '64:ff9b::10.1.2.3', true],
    ['fe80::1%eth0', 'fe80::1%eth1', true],
    ['10.0.0.0:80/8', '10.9.9.9', true],
    ['[2001:db8::]/32', '2001:db8:ffff::1', true],
    ['fe80::%eth0/10', 'fe80::1%eth1', true],
    ['::/0', '::1', true],
    ['0.0.0.0/0', '2001:db8::1', false],
    ['::/0', '::ffff:10.1.2.3', false],
    ['::/0', '64:ff9b::10.1.2.3', false],
    ['64:ff9b:1::/48', '64:ff9b::10.1.2.3', false],
    ['10.1.2.3', '10.1.2.03', false],
    ['10.1.2.3', undefined, false],
  ])('with %s: has %s is %p', (entry, address, expected) => {
    expect(new ClientList([entry], 'deny').hasAddress(address)).toBe(expected);
  });

  it.each([
    // Of IPv4 or of IPv6? The second would be all of IPv4, and the first no address of it.
    ...['::ffff:10.0.0.0/8', '64:ff9b::/96', '::ffff:0:0/96', '::ffff:10.0.0.0/104', '64:ff9b::/32'],
    ...['10.0.0.0/33', '10.0.0.0/-1', '10.0.0.0/', '10.0.0.0/8/8', '10.0.0.0/8 ', '10.0.0.0/0x8', '2001:db8::/129'],
    ...['::1::', ':::', '1:2:3:4:5:6:7:8:9', 'fe80::/64%eth0', '10.0.0.256', '010.0.0.1', ' 10.0.0.1', '[::1'],
    ...['fe80::1%eth0/200', '10/8', '10.0/16', '10.*', '10.0.0.*', '10.0.0.1-10.0.0.9', '', 5, null, ['10.0.0.1']],
  ])('rejects the entry %p, and names its place', (entry) => {
    expect(() => new ClientList(['10.0.0.1', entry], 'deny')).toThrow(
      expect.objectContaining({
        code: 'SLUICE_OPTION_INVALID',
        field: 'deny[1]',
        message: expect.stringMatching(
          /^deny\[1\] must be an address, a CIDR range .* \(one of IPv4 in dots\), or a key, got /s,
        ),
      }),
    );
  });

  it.each(['user-42', '42', '/login', 'a b', 'café', '203.0.113.7|/login', '2001:db8::/64|/login', 'team:red:9'])(
    'takes %s for a whole key',
    (entry) => {
      const list = new ClientList([entry], 'allow');

      expect([list.hasKey(entry), list.hasKey(`${entry}0`), list.hasAddress(entry)]).toEqual([true, false, false]);
    },
  );
});

/** An address as a number, in the bits of its family. */
function bitsOf(groups: Groups): { readonly size: bigint; readonly value: bigint } {
  const own = isIpv4(groups) ? groups.slice(6) : groups;
  return { size: BigInt(16 * own.length), value: own.reduce((sum, one) => (sum << 16n) | BigInt(one), 0n) };
}

describe('a range', () => {
  it('has the addresses of its family that begin with its bits, however they are written', () => {
    const flipped = (groups: Groups) =>
      fc.tuple(fc.nat(7), fc.nat(15)).map(([at, bit]) => groups.with(at, (groups[at] ?? 0) ^ (1 << bit)));
    const ranges = addresses.chain((range) => fc.tuple(fc.constant(range), fc.oneof(addresses, flipped(range))));
    const written = ranges.chain(([range, address]) =>
      fc.tuple(fc.constant(bitsOf(address)), spellings(address), fc.constant(range), fc.nat(128)),
    );
    fc.assert(
      fc.property(written, ([address, spelling, groups, length]) => {
        const { size, value } = bitsOf(groups);
        const prefix = BigInt(length) % (size + 1n);
        const rest = size - prefix;
        const range = isIpv4(groups) ? dotted(groups) : groups.map((one) => one.toString(16)).join(':');

        const list = new ClientList([`${range}/${String(prefix)}`], 'deny');

        expect(list.hasAddress(spelling)).toBe(address.size === size && address.value >> rest === value >> rest);
      }),
      { numRuns: cases(2_000), seed: testSeed(42) },
    );
  });
});

describe('allow and deny of one limit', () => {
  const policy = fixedWindow({ limit: 1, window: '1h' });
  const listed = { policy, key: byHeader('x-app'), allow: ['192.0.2.0/24'], deny: ['blog'] };
  const app = (name: string) => ({ headers: { 'x-app': name } });

  it('let a client on the list allow pass without a key, although keys may be denied', async () => {
    expect(await statusesOf(listed, [{}, app('blog'), { address: '203.0.113.1' }])).toEqual([200, 403, 403]);
  });

  it('read no key of a client on the list allow, unless a key may be denied', async () => {
    const key = (): never => {
      throw new Error('the key is read');
    };

    await expect(sending({ ...listed, key, deny: undefined })()).resolves.not.toHaveProperty('denial');
    await expect(sending({ ...listed, key })()).rejects.toThrow('the key is read');
  });

  it('lift one limit alone by a key among several: any client may send it', async () => {
    const limits = [
      { name: 'per-ip', policy, key: byIp() },
      { name: 'per-app', policy, key: byHeader('x-app') },
    ];

    const statuses = await statusesOf({ limits, allow: ['shop'], deny: ['blog'] }, ['blog', 'wiki', 'shop'].map(app));

    expect(statuses).toEqual([403, 200, 429]);
  });
});
