import { describe, expect, it } from '@jest/globals';
import { cases, seeded, testSeed } from '@sluice/testkit';
import { failingWith } from '../rls/failing-with.ts';
import { Body, framed } from '../../src/grpc/body.ts';

const LONGEST = 10_000;

function frameOf(message: Buffer): Buffer {
  return framed(Buffer.concat([Buffer.alloc(5), message]));
}

/** Adds chunks one after the other, as sockets deliver them: each a view of memory that is written again. */
function addAll(body: Body, chunks: readonly Buffer[]): Buffer | undefined {
  let message: Buffer | undefined;
  for (const chunk of chunks) {
    const view = Buffer.from(chunk);
    const added = body.add(view);
    if (added !== undefined) message = Buffer.from(added);
    view.fill(0xee);
  }
  return message;
}

describe('the body of a call', () => {
  it('is one message, however it is cut into chunks', () => {
    const random = seeded(testSeed(19));
    for (let i = 0; i < cases(500); i++) {
      const message = Buffer.from(Array.from({ length: random.integer(0, 400) }, () => random.integer(0, 255)));
      const bytes = frameOf(message);
      const chunks: Buffer[] = [];
      for (let at = 0; at < bytes.length;) {
        const length = random.integer(0, random.pick([1, 3, 100, 1000]));
        chunks.push(bytes.subarray(at, at + length));
        at += length;
      }
      const body = new Body(LONGEST);

      expect(addAll(body, chunks)).toEqual(message);
      expect(body.heldBytes).toBe(0);
      expect(() => {
        body.end();
      }).not.toThrow();
    }
  });

  it('takes memory for what has arrived, not for what is announced', () => {
    const body = new Body(4 * 1024 * 1024);
    body.add(frameOf(Buffer.alloc(4 * 1024 * 1024)).subarray(0, 6));

    expect(body.heldBytes).toBeLessThanOrEqual(1024);
  });

  it.each([
    ['is compressed', Buffer.from([1, 0, 0, 0, 0]), 12],
    ['has unknown flags', Buffer.from([2, 0, 0, 0, 0]), 13],
    ['announces one byte too many', Buffer.from([0, 0, 0, 0x27, 0x11]), 8],
    ['announces 4 GiB', Buffer.from([0, 255, 255, 255, 255]), 8],
    ['is followed by another', Buffer.concat([frameOf(Buffer.alloc(3)), frameOf(Buffer.alloc(3))]), 12],
    ['is followed by one byte', Buffer.concat([frameOf(Buffer.alloc(3)), Buffer.alloc(1)]), 12],
  ])('fails where a message %s, in one chunk and byte by byte', (_what, bytes, code) => {
    const failing = failingWith(code);

    expect(() => addAll(new Body(LONGEST), [bytes])).toThrow(failing);
    expect(() =>
      addAll(
        new Body(LONGEST),
        [...bytes].map((byte) => Buffer.from([byte])),
      ),
    ).toThrow(failing);
  });

  it.each([
    ['without a message', Buffer.alloc(0), 12],
    ['inside the prefix', Buffer.alloc(4), 13],
    ['inside a message', frameOf(Buffer.alloc(10)).subarray(0, 14), 13],
  ])('fails where it ends %s', (_where, bytes, code) => {
    const body = new Body(LONGEST);
    body.add(bytes);

    expect(() => {
      body.end();
    }).toThrow(failingWith(code));
  });
});
