import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { cases, seeded, testSeed, until, type Random } from '@sluice/testkit';
import { frameOf, GrpcClient, type RawAnswer } from '../grpc-client.ts';
import { encodeRequest, PATHS, type RequestFields } from '../protocol.ts';
import { descriptor } from '../running-service.ts';
import { Attacker } from './attacker.ts';
import * as h2 from './frames.ts';
import { startServiceProcess, type Memory, type ServiceProcess } from './service-process.ts';

const LIMITS = `
domain: shop
descriptors:
  - key: user
    rate_limit: { unit: second, requests_per_unit: 1000000 }
  - key: watched
    shadow_mode: true
    rate_limit: { unit: minute, requests_per_unit: 2 }
`;
/** What the process may take more than before, in MiB: while clients attack, and once they have left. */
const MOST_DURING = 256;
const MOST_AFTER = 48;

/** How long a client tries to write more. */
const PATIENCE_MS = 500;

const REQUEST: RequestFields = {
  domain: 'shop',
  hitsAddend: 3,
  descriptors: [
    descriptor('user=ann', { hitsAddend: { value: 2 } }),
    descriptor('watched=x', { limit: { requestsPerUnit: 7, unit: 2 }, isNegativeHits: false }),
  ],
};

const MESSAGE = frameOf(encodeRequest({ domain: 'shop', descriptors: [descriptor('user=bad')] }));
const BLOCK = h2.fieldBlock(h2.callFields(PATHS.rateLimit));
const HELLO = Buffer.concat([h2.PREFACE, h2.settings()]);

describe('other clients are served, and memory is bounded, while a client', () => {
  let service: ServiceProcess;
  let good: GrpcClient;
  let before: Memory;
  let attackers: Attacker[] = [];
  beforeAll(async () => {
    service = await startServiceProcess(LIMITS);
    good = new GrpcClient(service.grpc);
    for (let i = 0; i < 200; i++) await served();
  });
  afterAll(async () => {
    good.close();
    expect(await service.close()).toBe(0);
  });
  beforeEach(async () => {
    before = await service.memory();
  });
  afterEach(async () => {
    for (const attacker of attackers) attacker.close();
    await Promise.all(attackers.splice(0).map(({ closed }) => closed));
    await served();
    expect((await service.memory()).used - before.used).toBeLessThan(MOST_AFTER);
  });

  /** Another client, which may have to connect again: where this process was too busy for its pings. */
  const served = async (): Promise<unknown> =>
    until('another client is served', async () => {
      return (await good.ask({ domain: 'shop', descriptors: [descriptor('user=good')] })).overallCode === 'OK';
    });
  const attack = async (count = 1, options: { reads?: boolean } = {}): Promise<readonly [Attacker, ...Attacker[]]> => {
    attackers = await Promise.all(Array.from({ length: count }, () => Attacker.connect(service.grpc, options)));
    for (const attacker of attackers) void attacker.write(HELLO);
    return attackers as [Attacker, ...Attacker[]];
  };
  /** Meanwhile: other clients, and memory. */
  const expectHealth = async (): Promise<void> => {
    await served();
    expect((await service.memory()).rss - before.rss).toBeLessThan(MOST_DURING);
  };
  /** Numbers of streams. */
  const streams = (count: number, from = 1): readonly number[] => Array.from({ length: count }, (_, i) => from + 2 * i);

  it('resets calls that are complete, by the thousand', async () => {
    const [attacker] = await attack();
    for (let round = 0; round < 20 && !attacker.isClosed; round++) {
      const frames = streams(500, 1 + round * 1000).flatMap((stream) => [
        h2.callFrames(stream, BLOCK, MESSAGE),
        h2.rstStream(stream),
      ]);
      await attacker.write(Buffer.concat(frames));
    }

    await expectHealth();
  });

  it.each([
    ['never reads, on many connections', 10, { reads: false }, h2.settings()],
    ['gives no window for answers', 4, { reads: true }, h2.settings([4, 0])],
  ])('calls and %s', async (_what, connections, options, settings) => {
    const all = await attack(connections, options);
    await Promise.all(
      all.map(async (attacker) => {
        await attacker.write(settings);
        for (let round = 0; round < 10 && !attacker.isClosed; round++) {
          const calls = streams(500, 1 + round * 1000).map((stream) => h2.callFrames(stream, BLOCK, MESSAGE));
          if (!(await attacker.write(Buffer.concat(calls), PATIENCE_MS))) return;
        }
      }),
    );

    await expectHealth();
  });

  it('begins calls that it does not end, each with most of a message', async () => {
    const all = await attack(40);
    const most = Buffer.concat([Buffer.from([0, 0, 63, 255, 255]), Buffer.alloc(16_000)]);
    await Promise.all(
      all.map(async (attacker) => {
        for (const stream of streams(100)) {
          const begun = h2.frame(h2.TYPE.headers, h2.END_HEADERS, stream, BLOCK);
          const data = h2.frame(h2.TYPE.data, 0, stream, most);
          const window = h2.frame(h2.TYPE.windowUpdate, 0, 0, Buffer.from([0, 1, 0, 0]));
          if (!(await attacker.write(Buffer.concat([begun, data, window]), PATIENCE_MS))) return;
        }
      }),
    );

    await expectHealth();
  });

  it.each([
    ['pings', h2.ping()],
    ['settings', h2.settings([3, 100])],
    ['empty data', h2.frame(h2.TYPE.data, 0, 1)],
    ['priorities', h2.frame(h2.TYPE.priority, 0, 9, Buffer.from([0, 0, 0, 0, 16]))],
    ['windows', h2.frame(h2.TYPE.windowUpdate, 0, 0, Buffer.from([0, 0, 0, 1]))],
  ])('sends %s without end, and does not read', async (_what, one) => {
    const all = await attack(4, { reads: false });
    const many = Buffer.concat(Array.from({ length: 5_000 }, () => one));
    await Promise.all(
      all.map(async (attacker) => {
        await attacker.write(h2.frame(h2.TYPE.headers, h2.END_HEADERS, 1, BLOCK));
        for (let round = 0; round < 20 && !attacker.isClosed; round++) await attacker.write(many, PATIENCE_MS);
      }),
    );

    await expectHealth();
  });

  it('sends 100 000 descriptors in each message', async () => {
    const descriptors = Array.from({ length: 100_000 }, () => descriptor('user=x'));
    const message = frameOf(encodeRequest({ domain: 'shop', descriptors }));
    const answers: RawAnswer[] = [];
    for (let round = 0; round < 5; round++) {
      answers.push(...(await Promise.all(Array.from({ length: 4 }, () => good.call({ chunks: [message] })))));
    }

    expect(answers.map(({ grpcStatus }) => grpcStatus)).toEqual(answers.map(() => 3));
    await expectHealth();
  });

  it('sends ten thousand mutated frames', async () => {
    const random = seeded(testSeed(19));
    const sample = sampleFrames();
    for (let frames = 0; frames < cases(10_000);) {
      attackers = await Promise.all(Array.from({ length: 40 }, () => Attacker.connect(service.grpc)));
      for (const { socket } of attackers) {
        const chosen = sample.filter(() => random.percent(80));
        frames += chosen.length;
        socket.end(mutated(random, Buffer.concat([h2.PREFACE, ...chosen]), h2.PREFACE.length));
      }
      // Another call is answered after what came before it was read.
      await served();
      for (const attacker of attackers.splice(0)) attacker.close();
    }

    await expectHealth();
  });

  it('calls behind a GOAWAY with an error, in the same bytes', async () => {
    const call = h2.callFrames(3, BLOCK, frameOf(encodeRequest(REQUEST)));
    const goaway = h2.frame(h2.TYPE.goaway, 0, 0, Buffer.from([0, 0, 0, 0, 0, 0, 0, 1]));
    for (let i = 0; i < 20; i++) {
      const attacker = await Attacker.connect(service.grpc);
      attacker.socket.end(Buffer.concat([HELLO, goaway, call]));
      await attacker.closed;
    }

    await expectHealth();
  });
});

/** What a client sends: frames of every type, and two calls. */
function sampleFrames(): readonly Buffer[] {
  const message = frameOf(encodeRequest(REQUEST));
  const fields = h2.callFields(PATHS.rateLimit, ['grpc-timeout', '500m']);
  const block = h2.fieldBlock(fields);
  return [
    h2.settings([3, 100], [4, 65_535]),
    h2.callFrames(1, block, message),
    h2.frame(h2.TYPE.windowUpdate, 0, 0, Buffer.from([0, 0, 1, 0])),
    h2.frame(h2.TYPE.headers, 0, 3, block.subarray(0, 40)),
    h2.frame(h2.TYPE.continuation, h2.END_HEADERS, 3, block.subarray(40)),
    h2.frame(h2.TYPE.data, 0, 3, message.subarray(0, 10)),
    h2.ping(),
    h2.frame(h2.TYPE.data, h2.END_STREAM, 3, message.subarray(10)),
    h2.frame(h2.TYPE.priority, 0, 5, Buffer.from([0, 0, 0, 0, 16])),
    h2.callFrames(5, h2.fieldBlock(h2.callFields(PATHS.health)), frameOf(Buffer.alloc(0))),
    h2.rstStream(5),
    h2.frame(h2.TYPE.goaway, 0, 0, Buffer.alloc(8)),
  ];
}

/** Bytes with up to eight changed behind a place, and in a fifth of the cases cut somewhere. */
function mutated(random: Random, sample: Buffer, from: number): Buffer {
  const bytes = Buffer.from(sample);
  for (let i = random.integer(1, 8); i > 0 && bytes.length > from; i--) {
    bytes[random.integer(from, bytes.length - 1)] = random.integer(0, 255);
  }
  return random.percent(20) ? bytes.subarray(0, random.integer(0, bytes.length)) : bytes;
}
