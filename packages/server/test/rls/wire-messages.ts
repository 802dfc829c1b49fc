import fc from 'fast-check';
import type { RequestFields } from './protocol.ts';

/** Messages of protobuf by hand, as no library writes them: for what readers must understand nevertheless. */
export type Field = readonly [number: number, value: FieldValue];
export type FieldValue =
  | { readonly varint: bigint; readonly size?: number }
  | { readonly fixed64: bigint }
  | { readonly fixed32: number }
  | { readonly bytes: Uint8Array }
  | { readonly message: readonly Field[] }
  | { readonly group: readonly Field[] };

export const text = (value: string): FieldValue => ({ bytes: Buffer.from(value) });
export const message = (...fields: readonly Field[]): FieldValue => ({ message: fields });
export const number = (value: number | bigint, size?: number): FieldValue => ({
  varint: BigInt(value),
  ...(size === undefined ? {} : { size }),
});

export function encode(fields: readonly Field[]): Buffer {
  return Buffer.concat(fields.map(([field, value]) => encodeField(field, value)));
}

function encodeField(field: number, value: FieldValue): Buffer {
  const tag = (wireType: number): Buffer => varint(BigInt(field * 8 + wireType));
  if ('varint' in value) return Buffer.concat([tag(0), varint(value.varint, value.size)]);
  if ('fixed64' in value) {
    const bytes = Buffer.alloc(8);
    bytes.writeBigUInt64LE(value.fixed64);
    return Buffer.concat([tag(1), bytes]);
  }
  if ('fixed32' in value) {
    const bytes = Buffer.alloc(4);
    bytes.writeUInt32LE(value.fixed32);
    return Buffer.concat([tag(5), bytes]);
  }
  if ('group' in value) return Buffer.concat([tag(3), encode(value.group), tag(4)]);
  const bytes = 'message' in value ? encode(value.message) : value.bytes;
  return Buffer.concat([tag(2), varint(BigInt(bytes.length)), bytes]);
}

/** @param size - Bytes to use, up to ten: more than needed is allowed. */
export function varint(value: bigint, size = 1): Buffer {
  const bytes: number[] = [];
  let rest = value;
  do {
    bytes.push(Number(rest & 127n));
    rest >>= 7n;
  } while (rest > 0n || bytes.length < size);
  return Buffer.from(bytes.map((byte, i) => (i < bytes.length - 1 ? byte | 128 : byte)));
}

/** Fields that no version of the messages has, of every wire type. */
export const unknownFields: fc.Arbitrary<readonly Field[]> = fc.letrec<{ fields: Field[]; value: FieldValue }>(
  (tie) => ({
    value: fc.oneof(
      { depthSize: 'small', withCrossShrink: true },
      fc.bigInt(0n, 2n ** 64n - 1n).map((value): FieldValue => ({ varint: value })),
      fc.bigInt(0n, 2n ** 64n - 1n).map((value): FieldValue => ({ fixed64: value })),
      fc.integer({ min: 0, max: 2 ** 32 - 1 }).map((value): FieldValue => ({ fixed32: value })),
      fc.uint8Array({ maxLength: 200 }).map((value): FieldValue => ({ bytes: value })),
      tie('fields').map((group): FieldValue => ({ group })),
    ),
    fields: fc.array(fc.tuple(fc.integer({ min: 100, max: 2 ** 29 - 1 }), tie('value')), { maxLength: 3 }),
  }),
).fields;

/** Texts as clients send them, of up to four bytes a character. */
const texts = fc.oneof(fc.string({ maxLength: 20 }), fc.string({ unit: 'grapheme', maxLength: 10 }));
const uint32s = fc.oneof(fc.constantFrom(0, 1, 127, 128, 2 ** 31, 2 ** 32 - 1), fc.nat());

export const requests: fc.Arbitrary<RequestFields> = fc.record(
  {
    domain: texts,
    hitsAddend: uint32s,
    descriptors: fc.array(
      fc.record(
        {
          entries: fc.array(fc.record({ key: texts, value: texts }, { requiredKeys: [] }), { maxLength: 4 }),
          limit: fc.record({ requestsPerUnit: uint32s, unit: fc.integer({ min: 0, max: 6 }) }, { requiredKeys: [] }),
          hitsAddend: fc.record({ value: fc.maxSafeNat() }, { requiredKeys: [] }),
          isNegativeHits: fc.boolean(),
        },
        { requiredKeys: [] },
      ),
      { maxLength: 5 },
    ),
  },
  { requiredKeys: [] },
);
