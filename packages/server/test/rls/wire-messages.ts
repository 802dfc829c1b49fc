import { Writer } from 'protobufjs';
import fc from 'fast-check';
import type { Random } from '@sluice/testkit';
import type { RequestFields } from './protocol.ts';

/** A field that no version of the messages has, of any wire type but groups. */
export function unknownField(random: Random): Buffer {
  const field = random.integer(100, 2 ** 28) * 8;
  const [high, low] = [random.integer(0, 2 ** 32 - 1), random.integer(0, 2 ** 32 - 1)];
  const writer = new Writer();
  const kind = random.integer(0, 3);
  if (kind === 0) writer.uint32(field).uint64(high * 2 ** 20 + low);
  else if (kind === 1) writer.uint32(field + 1).fixed64(low);
  else if (kind === 2) writer.uint32(field + 5).fixed32(low);
  else writer.uint32(field + 2).bytes(Buffer.alloc(low % 200, high));
  return Buffer.from(writer.finish());
}

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
