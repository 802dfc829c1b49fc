import { describe, expect, it } from '@jest/globals';
import { byIp } from '@sluice/old-http';
import { canonicalAddress } from '@sluice/old-http/spi';
import { cases, testSeed } from '@sluice/testkit';
import fc from 'fast-check';

describe('the canonical form of an address, at a prefix of 64', () => {
  it.each([
    ['1.2.3.4', '1.2.3.4'],
    ['::ffff:1.2.3.4', '1.2.3.4'],
    ['::ffff:102:304', '1.2.3.4'],
    ['::FFFF:1.2.3.4', '1.2.3.4'],
    ['0:0:0:0:0:ffff:0102:0304', '1.2.3.4'],
    ['::1.2.3.4', '::/64'],
    ['::1', '::1'],
    ['0:0:0:0:0:0:0:1', '::1'],
    ['::', '::/64'],
    ['2001:db8:1234:5678:9abc::1', '2001:db8:1234:5678::/64'],
    ['2001:DB8:1234:5678:9ABC::1', '2001:db8:1234:5678::/64'],
    ['2001:0db8:1234:5678:9abc:0000:0000:0001', '2001:db8:1234:5678::/64'],
    ['2001:db8:1234:5678::1.2.3.4', '2001:db8:1234:5678::/64'],
    ['64:ff9b::1.2.3.4', '1.2.3.4'],
    ['64:ff9b::102:304', '1.2.3.4'],
    ['2002:102:304::1', '2002:102:304::/64'],
    ['fe80::1%eth0', 'fe80::/64'],
    ['1.2.3.4:80', '1.2.3.4'],
    ['[::1]', '::1'],
    ['[2001:db8::1]:443', '2001:db8::/64'],
    ['[fe80::1%eth0]:443', 'fe80::/64'],
    ['[::ffff:1.2.3.4]:80', '1.2.3.4'],
    ['::ffff:1.2.3.4:80', '1.2.3.4'],
  ])('of %s is %s', (text, expected) => {
    expect(canonicalAddress(text, 64)).toBe(expected);
  });

  it.each([
    ['01.02.03.04'],
    ['1.2.3'],
    ['0x7f.1'],
    ['1.2.3.4.5'],
    ['1.2.3.256'],
    ['1.2.3.-4'],
    [' 1.2.3.4'],
    ['1.2.3.4 '],
    ['1.2.3.4:'],
    ['1.2.3.4:123456'],
    ['[1.2.3.4'],
    ['[::1'],
    ['[::1]x'],
    ['[::1]:'],
    ['::1]'],
    ['1::2::3'],
    [':::'],
    [':1'],
    ['1:2:3:4:5:6:7'],
    ['1:2:3:4:5:6:7:8:9'],
    ['1:2:3:4:5:6:7:8::'],
    ['1:2:3:4:5:6:7:'],
    ['12345::'],
    ['g::1'],
    ['1.2.3.4::'],
    ['::1.2.3'],
    ['unknown'],
    ['_hidden'],
    [''],
    ['%'],
    ['[]'],
    ['undefined'],
  ])('of %j does not exist', (text) => {
    expect(canonicalAddress(text, 64)).toBeUndefined();
  });

  it.each([
    [32, '2001:db8::/32'],
    [48, '2001:db8:1234::/48'],
    [56, '2001:db8:1234:5600::/56'],
    [63, '2001:db8:1234:5678::/63'],
    [65, '2001:db8:1234:5678:8000::/65'],
    [128, '2001:db8:1234:5678:9abc:def0:0:1'],
  ])('is cut at a prefix of %d bits', (prefix, expected) => {
    expect(canonicalAddress('2001:db8:1234:5678:9abc:def0::1', prefix)).toBe(expected);
  });
});

describe('byIp', () => {
  it.each([[0], [31], [129], [64.5], [NaN], ['64']])('denies a prefix of %j bits', (ipv6Prefix) => {
    expect(() => byIp({ ipv6Prefix: ipv6Prefix as number })).toThrow(
      'ipv6Prefix must be a whole number of bits from 32 to 128',
    );
  });
});

/** Eight groups of 16 bits. */
type Groups = readonly number[];

const group = fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 0xffff }));
const octets = fc.integer({ min: 0, max: 2 ** 32 - 1 });
const anyGroups: fc.Arbitrary<Groups> = fc.array(group, { minLength: 8, maxLength: 8 });
const mapped = (prefix: Groups) => octets.map((value): Groups => [...prefix, value >>> 16, value & 0xffff]);
const addresses: fc.Arbitrary<Groups> = fc.oneof(
  anyGroups,
  mapped([0, 0, 0, 0, 0, 0xffff]),
  mapped([0x64, 0xff9b, 0, 0, 0, 0]),
  fc.constant([0, 0, 0, 0, 0, 0, 0, 1]),
);

const isEmbedded = (groups: Groups): boolean =>
  /^(0:0:0:0:0:65535|100:65435:0:0:0:0)$/.test(groups.slice(0, 6).join(':'));
const dotted = (groups: Groups): string =>
  groups
    .slice(6)
    .flatMap((value) => [value >> 8, value & 255])
    .join('.');

/** What tells one client from another: computed again here, from the groups and not from text. */
function clientOf(groups: Groups): string {
  if (isEmbedded(groups)) return dotted(groups);
  return groups.join() === '0,0,0,0,0,0,0,1' ? 'loopback' : groups.slice(0, 4).join();
}

/** One way to write the address down: each choice is one that people and programs make. */
const spellings = (groups: Groups): fc.Arbitrary<string> =>
  fc
    .record({
      padded: fc.boolean(),
      upperCase: fc.boolean(),
      run: fc.tuple(fc.nat(7), fc.integer({ min: 1, max: 8 })),
      dottedEnd: fc.boolean(),
      wrapped: fc.constantFrom('plain', 'zone', 'brackets', 'port', 'zone and port', 'ipv4', 'ipv4 and port'),
      port: fc.integer({ min: 1, max: 65_535 }),
    })
    .map(({ padded, upperCase, run: [start, length], dottedEnd, wrapped, port }) => {
      if (isEmbedded(groups) && wrapped === 'ipv4') return dotted(groups);
      if (isEmbedded(groups) && wrapped === 'ipv4 and port') return `${dotted(groups)}:${String(port)}`;
      const hex = groups.slice(0, dottedEnd ? 6 : 8).map((value) => value.toString(16).padStart(padded ? 4 : 1, '0'));
      const written = dottedEnd ? [...hex, dotted(groups)] : hex;
      const end = Math.min(start + length, hex.length);
      const compressible = start < end && groups.slice(start, end).every((value) => value === 0);
      const text = compressible
        ? `${written.slice(0, start).join(':')}::${written.slice(end).join(':')}`
        : written.join(':');
      const cased = upperCase ? text.toUpperCase() : text;
      switch (wrapped) {
        case 'zone':
          return `${cased}%eth0`;
        case 'brackets':
          return `[${cased}]`;
        case 'port':
          return `[${cased}]:${String(port)}`;
        case 'zone and port':
          return `[${cased}%en1]:${String(port)}`;
        default:
          return cased;
      }
    });

describe('any two addresses', () => {
  it('have one key when they are spellings of one', () => {
    fc.assert(
      fc.property(
        addresses.chain((groups) => fc.tuple(spellings(groups), spellings(groups))),
        ([one, other]) => {
          expect(canonicalAddress(one, 64)).toBeDefined();
          expect(canonicalAddress(one, 64)).toBe(canonicalAddress(other, 64));
        },
      ),
      { numRuns: cases(2_000), seed: testSeed(42) },
    );
  });

  it('have one key exactly when they are one client: the same IPv4 address, or the same first 64 bits', () => {
    const pairs = fc.oneof(
      fc.tuple(addresses, addresses),
      // Neighbours, which differ in one group.
      fc
        .tuple(addresses, fc.nat(7), group)
        .map(([groups, at, value]): [Groups, Groups] => [groups, groups.with(at, value)]),
    );
    fc.assert(
      fc.property(
        pairs.chain(([one, other]) =>
          fc.tuple(fc.constant(clientOf(one) === clientOf(other)), spellings(one), spellings(other)),
        ),
        ([same, one, other]) => {
          expect(canonicalAddress(one, 64) === canonicalAddress(other, 64)).toBe(same);
        },
      ),
      { numRuns: cases(2_000), seed: testSeed(42) },
    );
  });

  it('have one key when they differ below the prefix alone', () => {
    const below = fc
      .tuple(anyGroups, fc.array(group, { minLength: 4, maxLength: 4 }))
      .map(([groups, end]): [Groups, Groups] => {
        const network = [0x2001, ...groups.slice(1, 4)];
        return [
          [...network, ...groups.slice(4)],
          [...network, ...end],
        ];
      });
    fc.assert(
      fc.property(
        below.chain(([one, other]) => fc.tuple(spellings(one), spellings(other))),
        ([one, other]) => {
          expect(canonicalAddress(one, 64)).toBe(canonicalAddress(other, 64));
        },
      ),
      { numRuns: cases(100), seed: testSeed(42) },
    );
  });
});

describe('any text', () => {
  it('has a canonical form that is its own, or none', () => {
    const texts = fc.oneof(fc.string(), fc.stringMatching(/^[0-9a-f:.[\]%/]{0,40}$/));
    fc.assert(
      fc.property(texts, (text) => {
        const canonical = canonicalAddress(text, 128);
        expect(canonical === undefined || canonicalAddress(canonical, 128) === canonical).toBe(true);
      }),
      { numRuns: cases(5_000), seed: testSeed(42) },
    );
  });
});
