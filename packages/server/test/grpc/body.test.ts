import { describe, expect, it } from '@jest/globals';
import { cases, seeded, testSeed } from '@sluice/testkit';
import { Body } from '../../src/grpc/body.ts';
import { frameOf } from '../rls/grpc-client.ts';

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
      const body = new Body();

      expect(addAll(body, chunks)).toEqual(message);
      expect(body.heldBytes).toBe(0);
      expect(() => {
        body.end();
      }).not.toThrow();
    }
  });

  it('takes memory for what has arrived, not for what is announced', () => {
    const body = new Body();
    body.add(frameOf(Buffer.alloc(4 * 1024 * 1024)).subarray(0, 6));

    expect(body.heldBytes).toBeLessThanOrEqual(1024);
  });
});
