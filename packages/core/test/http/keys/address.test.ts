import { describe, expect, it } from '@jest/globals';
import { canonicalAddress } from '@sluice/core/http';
import { cases, testSeed } from '@sluice/testkit';
import fc from 'fast-check';

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

/** Eight groups of 16 bits. */
type Groups = readonly number[];

const group = fc.oneof(fc.constant(0), fc.nat(0xffff));
const anyGroups: fc.Arbitrary<Groups> = fc.array(group, { minLength: 8, maxLength: 8 });
const embedded = (prefix: Groups): fc.Arbitrary<Groups> =>
  fc.tuple(group, group).map(([high, low]) => [...prefix, high, low]);
const addresses = fc.oneof(
  anyGroups,
  embedded([0, 0, 0, 0, 0, 0xffff]),
  embedded([0x64, 0xff9b, 0, 0, 0, 0]),
  fc.constant<Groups>([0, 0, 0, 0, 0, 0, 0, 1]),
);
const isIpv4 = (groups: Groups): boolean => /^(0,0,0,0,0,65535|100,65435,0,0,0,0),/.test(groups.join());
const dotted = (groups: Groups): string =>
  groups
    .slice(6)
    .flatMap((value) => [value >> 8, value & 255])
    .join('.');

/** What distinguishes one client from another: computed from the groups, and not from text. */
function clientOf(groups: Groups): string {
  if (isIpv4(groups)) return dotted(groups);
  return groups.join() === '0,0,0,0,0,0,0,1' ? 'loopback' : groups.slice(0, 4).join();
}

const WRAPPINGS: readonly ((text: string) => string)[] = [
  (text) => text,
  (text) => text.toUpperCase(),
  (text) => `${text}%eth0`,
  (text) => `[${text}]`,
  (text) => `[${text}]:4711`,
  (text) => `[${text}%en1]:1`,
];

/** One of the ways in which people and programs write an address. */
const spellings = (groups: Groups): fc.Arbitrary<string> =>
  fc
    .record({
      digits: fc.constantFrom(1, 4),
      start: fc.nat(7),
      length: fc.integer({ min: 1, max: 8 }),
      endsInIpv4: fc.boolean(),
      wrap: fc.constantFrom(...WRAPPINGS),
    })
    .map(({ digits, start, length, endsInIpv4, wrap }) => {
      const hex = groups.slice(0, endsInIpv4 ? 6 : 8).map((value) => value.toString(16).padStart(digits, '0'));
      const written = endsInIpv4 ? [...hex, dotted(groups)] : hex;
      const end = Math.min(start + length, hex.length);
      const isZero = start < end && groups.slice(start, end).every((value) => value === 0);
      return wrap(isZero ? `${written.slice(0, start).join(':')}::${written.slice(end).join(':')}` : written.join(':'));
    });

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
