import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { FRAME, FrameError, FrameReader, readText, writeFrame } from '@sluice/remote/wire';
import { cases, testSeed } from '@sluice/testkit';

type Frame = readonly [type: number, id: number, text: string];

function readerOf(mostBytes = 1000): { readonly reader: FrameReader; readonly frames: Frame[] } {
  const frames: Frame[] = [];
  const reader = new FrameReader(mostBytes, (type, id, text) => frames.push([type, id, text.toString()]));
  return { reader, frames };
}

const anyFrame = fc.tuple(
  fc.constantFrom(...Object.values(FRAME)),
  fc.integer({ min: 0, max: 2 ** 32 - 1 }),
  fc.string({ unit: 'binary', maxLength: 60 }).map((text) => JSON.stringify(text)),
);

describe('frames', () => {
  it('are read as they were written, however the bytes are cut', () => {
    fc.assert(
      fc.property(fc.array(anyFrame, { maxLength: 8 }), fc.array(fc.integer({ min: 1, max: 40 })), (written, cuts) => {
        const { reader, frames } = readerOf();
        let bytes = Buffer.concat(written.map(([type, id, text]) => writeFrame(type, id, text)));

        for (const cut of [...cuts, bytes.length]) {
          reader.push(bytes.subarray(0, cut));
          bytes = bytes.subarray(cut);
        }

        expect(frames).toEqual(written);
      }),
      { seed: testSeed(1), numRuns: cases(300) },
    );
  });

  it('hold strings with lone surrogates', () => {
    const { reader, frames } = readerOf();

    reader.push(writeFrame(FRAME.perform, 1, JSON.stringify('\ud800 and \udfff')));

    expect(readText(Buffer.from(frames[0]?.[2] ?? ''))).toBe('\ud800 and \udfff');
  });

  it('are read byte by byte in time that grows with their length', () => {
    const { reader, frames } = readerOf(1_048_576);
    const bytes = writeFrame(FRAME.batch, 7, ' '.repeat(1_000_000));

    for (let i = 0; i < bytes.length; i++) reader.push(bytes.subarray(i, i + 1));

    expect(frames).toHaveLength(1);
  });

  it.each([
    ['too long', [0, 0, 3, 238, 1, 0, 0, 0, 1], 'at most 1000 bytes, got 1001'],
    ['a gigabyte', [64, 0, 0, 0, 1, 0, 0, 0, 1], 'at most 1000 bytes'],
    ['without a header', [0, 0, 0, 4, 1, 0, 0, 0, 1], 'at least 5 bytes, got 4'],
    ['of another protocol', [...Buffer.from('HTTP/1.1 400 Bad Request')], 'at most 1000 bytes'],
  ])('that are %s are an error, before the text has come', (_name, bytes, message) => {
    const { reader, frames } = readerOf();

    expect(() => {
      reader.push(Buffer.from(bytes));
    }).toThrow(message);
    expect(frames).toEqual([]);
  });

  it.each(['', '{', 'NaN', '[1,]', '\u0000'])('whose text is %j are no JSON', (text) => {
    expect(() => readText(Buffer.from(text))).toThrow(FrameError);
  });

  it('with very deep JSON fail or are read, and end nothing', () => {
    const read = (): unknown => readText(Buffer.from('['.repeat(1_000_000)));

    expect(read).toThrow(FrameError);
  });
});
