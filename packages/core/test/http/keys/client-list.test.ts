import { describe, expect, it } from '@jest/globals';
import { fixedWindow } from '@sluice/core';
import { byHeader, byIp } from '@sluice/core/http';
import { cases, testSeed } from '@sluice/testkit';
import fc from 'fast-check';
import { ClientList } from '../../../src/http/keys/client-list.ts';
import { sending, statusesOf } from '../plain-framework.ts';

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

/** An address in the number of bits of its family. */
interface Model {
  readonly size: 32n | 128n;
  readonly value: bigint;
}

const hex = (value: bigint): string =>
  Array.from({ length: 8 }, (_, i) => ((value >> BigInt(112 - 16 * i)) & 0xffffn).toString(16)).join(':');
const dotted = (value: bigint): string => [24n, 16n, 8n, 0n].map((shift) => String((value >> shift) & 255n)).join('.');
const NOTATIONS: readonly ((value: bigint) => string)[] = [
  dotted,
  (value) => `::ffff:${dotted(value)}`,
  (value) => hex((0xffffn << 32n) | value),
  (value) => `64:ff9b::${dotted(value)}`,
];
const ipv4 = fc.bigInt(0n, 2n ** 32n - 1n).map((value): Model => ({ size: 32n, value }));
const ipv6 = fc
  .bigInt(0n, 2n ** 128n - 1n)
  .filter((value) => value >> 32n !== 0xffffn && value >> 96n !== 0x64ff9bn)
  .map((value): Model => ({ size: 128n, value }));
const written = ({ size, value }: Model, notation: number): string =>
  size === 128n ? hex(value) : (NOTATIONS[notation] ?? dotted)(value);

describe('a range', () => {
  it('has the addresses of its family that begin with its bits, however they are written', () => {
    const ranges = fc.tuple(fc.oneof(ipv4, ipv6), fc.oneof(ipv4, ipv6), fc.nat(128), fc.nat(128), fc.nat(3));
    fc.assert(
      fc.property(ranges, ([range, other, length, flipped, notation]) => {
        const prefix = BigInt(length) % (range.size + 1n);
        const neighbour = { size: range.size, value: range.value ^ (1n << (BigInt(flipped) % range.size)) };
        const address = flipped % 3 === 0 ? other : neighbour;
        const rest = range.size - prefix;

        const list = new ClientList([`${written(range, 0)}/${String(prefix)}`], 'deny');

        expect(list.hasAddress(written(address, notation))).toBe(
          address.size === range.size && address.value >> rest === range.value >> rest,
        );
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
