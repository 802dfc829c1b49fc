import { describe, expect, it } from '@jest/globals';
import { canonicalAddress } from '@sluice/core/http';
import { cases, testSeed } from '@sluice/testkit';
import fc from 'fast-check';
import { addresses, dotted, group, isIpv4, spellings, type Groups } from './any-address.ts';

describe('the canonical form of an address', () => {
  it.each([
    ['::ffff:1.2.3.4:80', '1.2.3.4'],
    ['::ffff:1.2.3.4%eth0', '1.2.3.4'],
    ['64:ff9b::1.2.3.4', '1.2.3.4'],
    ['64:ff9b:1::1.2.3.4', '64:ff9b:1::/64'],
    ['::1.2.3.4', '::/64'],
    ['::', '::/64'],
    ['::1', '::1'],
    ['[0:0:0:0:0:0:0:1]', '::1'],
    ['2002:102:304::1', '2002:102:304::/64'],
    ['[fe80::1%eth0]:443', 'fe80::/64'],
  ])('of %s is %s', (text, expected) => {
    expect(canonicalAddress(text, 64)).toBe(expected);
  });

  it.each([
    ...['01.02.03.04', '1.2.3', '0x7f.1', '1.2.3.4.5', '1.2.3.256', '1.2.3.-4', ' 1.2.3.4', '1.2.3.4 ', '1.2.3.4:'],
    ...['1.2.3.4:123456', '[1.2.3.4', '[::1', '[::1]x', '[::1]:', '::1]', '1::2::3', ':::', ':1', '1:2:3:4:5:6:7'],
    ...['1:2:3:4:5:6:7:8:9', '1:2:3:4:5:6:7:8::', '1:2:3:4:5:6:7:', '12345::', 'g::1', '1.2.3.4::', '::1.2.3'],
    ...['::ffff:01.2.3.4', '\u0661.2.3.4', 'unknown', '_hidden', '', '%', '[]', 'undefined', '1.2.3.4/8'],
  ])('of %j does not exist', (text) => {
    expect(canonicalAddress(text, 64)).toBeUndefined();
  });

  it.each([
    [56, '2001:db8:1234:5600::/56'],
    [63, '2001:db8:1234:5678::/63'],
    [128, '2001:db8:1234:5678:9abc:def0:0:1'],
  ])('is cut at a prefix of %d bits', (prefix, expected) => {
    expect(canonicalAddress('2001:db8:1234:5678:9abc:def0::1', prefix)).toBe(expected);
  });
});

/** What distinguishes one client from another: computed from the groups, and not from text. */
function clientOf(groups: Groups): string {
  if (isIpv4(groups)) return dotted(groups);
  return groups.join() === '0,0,0,0,0,0,0,1' ? 'loopback' : groups.slice(0, 4).join();
}

/** Two addresses of any kind, or neighbours that differ in one group. */
const pairs = fc
  .oneof(
    fc.tuple(addresses, addresses),
    addresses.map((groups): [Groups, Groups] => [groups, groups]),
    fc
      .tuple(addresses, fc.nat(7), group)
      .map(([groups, at, value]): [Groups, Groups] => [groups, groups.with(at, value)]),
  )
  .chain(([one, other]) => fc.tuple(fc.constant(clientOf(one) === clientOf(other)), spellings(one), spellings(other)));

describe('two texts', () => {
  it('are one client exactly if they are the same IPv4 address, or have the same first 64 bits', () => {
    fc.assert(
      fc.property(pairs, ([isOne, one, other]) => {
        expect(canonicalAddress(one, 64)).toBeDefined();
        expect(canonicalAddress(one, 64) === canonicalAddress(other, 64)).toBe(isOne);
      }),
      { numRuns: cases(2_000), seed: testSeed(42) },
    );
  });
});
