import fc from 'fast-check';

/** Eight groups of 16 bits. */
export type Groups = readonly number[];

export const group: fc.Arbitrary<number> = fc.oneof(fc.constant(0), fc.nat(0xffff));
const anyGroups: fc.Arbitrary<Groups> = fc.array(group, { minLength: 8, maxLength: 8 });
const embedded = (prefix: Groups): fc.Arbitrary<Groups> =>
  fc.tuple(group, group).map(([high, low]) => [...prefix, high, low]);
export const addresses: fc.Arbitrary<Groups> = fc.oneof(
  anyGroups,
  embedded([0, 0, 0, 0, 0, 0xffff]),
  embedded([0x64, 0xff9b, 0, 0, 0, 0]),
  fc.constant<Groups>([0, 0, 0, 0, 0, 0, 0, 1]),
);
export const isIpv4 = (groups: Groups): boolean => /^(0,0,0,0,0,65535|100,65435,0,0,0,0),/.test(groups.join());
export const dotted = (groups: Groups): string =>
  groups
    .slice(6)
    .flatMap((value) => [value >> 8, value & 255])
    .join('.');

const WRAPPINGS: readonly ((text: string) => string)[] = [
  (text) => text,
  (text) => text.toUpperCase(),
  (text) => `${text}%eth0`,
  (text) => `[${text}]`,
  (text) => `[${text}]:4711`,
  (text) => `[${text}%en1]:1`,
];

/** One of the ways in which people and programs write an address. */
export const spellings = (groups: Groups): fc.Arbitrary<string> =>
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
