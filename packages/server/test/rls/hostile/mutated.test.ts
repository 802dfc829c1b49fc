import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Client } from '@grpc/grpc-js';
import { cases, seeded, testSeed, type Random } from '@sluice/testkit';
import { METHODS, encodeRequest, type RequestFields } from '../protocol.ts';
import { frameOf } from '../raw-call.ts';
import { ask, connect, descriptor } from '../running-service.ts';
import { Attacker } from './attacker.ts';
import * as h2 from './frames.ts';
import { startServiceProcess, type ServiceProcess } from './service-process.ts';

const LIMITS = `
domain: shop
descriptors:
  - key: user
    rate_limit: { unit: day, requests_per_unit: 1000000 }
  - key: watched
    shadow_mode: true
    rate_limit: { unit: minute, requests_per_unit: 2 }
`;
const REQUEST: RequestFields = {
  domain: 'shop',
  hitsAddend: 3,
  descriptors: [
    descriptor('user=ann', { hitsAddend: { value: 2 } }),
    descriptor('watched=x', { limit: { requestsPerUnit: 7, unit: 2 }, isNegativeHits: false }),
  ],
};
/** What the process may take more than before, in MiB. */
const MOST_GROWTH = 64;

describe('a service that is sent mutated bytes', () => {
  let service: ServiceProcess;
  let good: Client;
  beforeAll(async () => {
    service = await startServiceProcess(LIMITS);
    good = connect(service.grpc);
  });
  afterAll(async () => {
    good.close();
    expect(await service.close()).toBe(0);
  });
  const served = async (): Promise<string> =>
    (await ask(good, { domain: 'shop', descriptors: [descriptor('user=good')] })).overallCode;

  it('outlives ten thousand mutated frames, and serves others meanwhile', async () => {
    const random = seeded(testSeed(19));
    await served();
    const before = await service.memory();
    const sample = sampleFrames();
    for (let frames = 0; frames < cases(10_000);) {
      const attackers = await Promise.all(Array.from({ length: 40 }, () => Attacker.connect(service.grpc)));
      for (const { socket } of attackers) {
        const chosen = sample.filter(() => random.percent(80));
        frames += chosen.length;
        socket.end(mutated(random, Buffer.concat([h2.PREFACE, ...chosen]), h2.PREFACE.length));
      }
      // Another call is answered after what came before it was read.
      expect(await served()).toBe('OK');
      for (const attacker of attackers) attacker.close();
    }

    expect(await served()).toBe('OK');
    expect((await service.memory()).used - before.used).toBeLessThan(MOST_GROWTH);
  });

  it('outlives calls behind a GOAWAY with an error, in the same bytes', async () => {
    const call = h2.callFrames(
      3,
      h2.fieldBlock(h2.callFields(METHODS.shouldRateLimit.path)),
      frameOf(encodeRequest(REQUEST)),
    );
    const goaway = h2.frame(h2.TYPE.goaway, 0, 0, Buffer.from([0, 0, 0, 0, 0, 0, 0, 1]));
    for (let i = 0; i < 20; i++) {
      const attacker = await Attacker.connect(service.grpc);
      attacker.socket.end(Buffer.concat([h2.PREFACE, h2.settings(), goaway, call]));
      await attacker.closed;
    }

    expect(await served()).toBe('OK');
  });
});

/** What a client sends: frames of every type, and two calls. */
function sampleFrames(): readonly Buffer[] {
  const message = frameOf(encodeRequest(REQUEST));
  const fields = h2.callFields(METHODS.shouldRateLimit.path, ['grpc-timeout', '500m']);
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
    h2.callFrames(5, h2.fieldBlock(h2.callFields(METHODS.check.path)), frameOf(Buffer.alloc(0))),
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
