import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { cases } from '@sluice/testkit';
import { readMessage } from '../../src/sentinel/codec.ts';
import type { Served } from '../serve.ts';
import { flow, framed, i32, i64, i8, int, paramFlow, ping, text, u16 } from './frames.ts';
import { SentinelClient } from './sentinel-client.ts';
import { limitsOf, serveSentinel } from './sentinel-service.ts';

const OK = 0;
/** With the two bytes of the length. */
const MOST_BYTES = 1_024;
const HEAD = [i64(201), i32(1)];

let service: Served;
let client: SentinelClient;
beforeEach(async () => {
  const rules = [
    { flowId: 101, count: 1_000_000 },
    { flowId: 201, count: 1_000_000, items: [] },
  ];
  service = await serveSentinel(limitsOf(rules));
  client = await SentinelClient.connect(service);
});
afterEach(() => service.close());

describe('a message that Sentinel does not answer', () => {
  it.each<[string, Buffer]>([
    ['nothing', framed()],
    ['less than a head', framed(i32(1))],
    ['an unknown type', framed(i32(1), i8(99))],
    ['a negative type', framed(i32(1), i8(-1))],
    ['an acquisition of slots', framed(i32(1), i8(3), i64(101), i32(1))],
    ['a release of slots', framed(i32(1), i8(4), i64(1))],
    ['a FLOW without data', framed(i32(1), i8(1))],
    ['a FLOW that ends early', framed(i32(1), i8(1), i64(101), u16(1))],
    ['a PING whose name is shorter than it says', framed(i32(0), i8(0), i32(2_000_000_000), Buffer.from('name'))],
    ['a PARAM_FLOW without data', framed(i32(1), i8(2))],
    ['a PARAM_FLOW of no values', framed(i32(1), i8(2), ...HEAD, i32(0))],
    ['a PARAM_FLOW of minus one value', framed(i32(1), i8(2), ...HEAD, i32(-1), int(1))],
    ['a PARAM_FLOW of fewer values than it says', framed(i32(1), i8(2), ...HEAD, i32(2_000_000_000), int(1))],
    ['a text that is shorter than it says', framed(i32(1), i8(2), ...HEAD, i32(1), i8(7), i32(500), Buffer.from('a'))],
    ['a text of a negative length', framed(i32(1), i8(2), ...HEAD, i32(1), i8(7), i32(-1), Buffer.from('a'))],
    ['a value that ends early', framed(i32(1), i8(2), ...HEAD, i32(1), i8(1), i32(1))],
    ['a message of more than 1024 bytes', paramFlow(1, 201, 1, text('x'.repeat(1_100)))],
    ['the longest message that a length can say', framed(Buffer.alloc(65_535))],
  ])('is skipped, and the next one is answered: %s', async (_what, message) => {
    const answers = await client.ask(Buffer.concat([message, flow(7, 101)]));

    expect(answers).toEqual([expect.objectContaining({ xid: 7, status: OK })]);
  });

  it('may have just 1024 bytes, and is answered then', async () => {
    const overhead = paramFlow(1, 201, 1, text('')).length;
    const longest = paramFlow(1, 201, 1, text('x'.repeat(MOST_BYTES - overhead)));
    const longer = paramFlow(2, 201, 1, text('x'.repeat(MOST_BYTES - overhead + 1)));

    const answers = await client.ask(longest, Buffer.concat([longer, flow(3, 101)]));

    expect(answers.map(({ xid, status }) => [xid, status])).toEqual([
      [1, OK],
      [3, OK],
    ]);
  });
});

describe('bytes without a meaning', () => {
  it('end no reader, and allocate no more than they are', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), fc.constantFrom(0, 1, 2), (bytes, type) => {
        const message = readMessage(Buffer.concat([i32(1), i8(type), bytes]));
        expect(message === undefined || 'xid' in message).toBe(true);
        expect(message !== undefined && 'values' in message ? message.values.length : 0).toBeLessThanOrEqual(
          bytes.length,
        );
      }),
      { numRuns: cases(2_000) },
    );
  });
});

describe('a request of a page', () => {
  it.each(['POST', 'PUT', 'GET'])('uses no units: %s', async (method) => {
    const head = Buffer.from(`${method} / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 40000\r\n\r\n`);
    const skipped = Buffer.alloc(2 + head.readUInt16BE(0) - head.length, 65);
    const page = await SentinelClient.connect(service);
    const closed = new Promise((resolve) => page.socket.once('close', resolve));
    page.socket.write(Buffer.concat([head, skipped, flow(9, 101)]));
    await closed;

    const [answer] = await client.ask(flow(1, 101));

    expect(answer).toMatchObject({ status: OK, numbers: [999_999, 0] });
  });
});

describe('thousands of connections', () => {
  it('that say nothing, half a message or nonsense leave others served', async () => {
    const nonsense = [Buffer.alloc(0), flow(1, 101).subarray(0, 7), framed(i32(1), i8(99)), Buffer.alloc(1_000, 0xff)];
    const idle = await Promise.all(Array.from({ length: 1_000 }, () => SentinelClient.connect(service)));
    idle.forEach(({ socket }, i) => {
      socket.write(nonsense[i % nonsense.length] as Buffer);
    });

    expect(await client.ask(ping('checkout'))).toEqual([expect.objectContaining({ numbers: [1] })]);
    expect(await client.status(flow(2, 101))).toBe(OK);
  });
});

describe('a client that sends without reading', () => {
  it('costs no other client anything', async () => {
    client.socket.pause();
    const flood = Buffer.concat(Array.from({ length: 3_000 }, (_one, i) => flow(i, 101)));
    const write = (): void => {
      while (client.socket.writable && client.socket.write(flood));
    };
    client.socket.on('drain', write);
    write();

    const other = await SentinelClient.connect(service);

    expect(await other.ask(ping('checkout'))).toHaveLength(1);
    expect(await other.status(flow(1, 101))).toBe(OK);
  });
});
