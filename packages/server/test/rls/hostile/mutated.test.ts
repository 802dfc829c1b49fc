import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Client } from '@grpc/grpc-js';
import { cases, seeded, testSeed, type Random } from '@sluice/testkit';
import { METHODS, encodeRequest, type RequestFields } from '../protocol.ts';
import { RawClient, frameOf } from '../raw-call.ts';
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
const JSON_REQUEST = {
  domain: 'shop',
  hits_addend: '3',
  descriptors: [
    { entries: [{ key: 'user', value: 'ann' }], hitsAddend: 2 },
    { entries: [{ key: 'watched' }], limit: { requestsPerUnit: 7, unit: 'MINUTE' } },
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

  it('answers each of ten thousand mutated messages with a status of gRPC', async () => {
    const random = seeded(testSeed(20));
    const raw = new RawClient(service.grpc);
    const sample = frameOf(encodeRequest(REQUEST));
    const before = await service.memory();
    const statuses = new Set<number | undefined>();
    for (let i = 0; i < cases(10_000); i += 100) {
      const calls = Array.from({ length: 100 }, () => raw.call({ chunks: [mutated(random, sample, 0)] }));
      for (const { status, grpcStatus } of await Promise.all(calls)) {
        statuses.add(grpcStatus);
        expect(status).toBe(200);
      }
    }
    raw.close();

    // OK, UNKNOWN (no domain), INVALID_ARGUMENT, RESOURCE_EXHAUSTED (an announced length), UNIMPLEMENTED, INTERNAL.
    expect([0, 2, 3, 8, 12, 13]).toEqual(expect.arrayContaining([...statuses]));
    expect(statuses.size).toBeGreaterThan(3);
    expect(await served()).toBe('OK');
    expect((await service.memory()).used - before.used).toBeLessThan(MOST_GROWTH);
  });

  it('answers each of ten thousand mutated requests in JSON', async () => {
    const random = seeded(testSeed(21));
    const sample = Buffer.from(JSON.stringify(JSON_REQUEST));
    const url = `http://127.0.0.1:${String(service.http)}/json`;
    const before = await service.memory();
    const statuses = new Set<number>();
    for (let i = 0; i < cases(10_000); i += 50) {
      const answers = await Promise.all(
        Array.from({ length: 50 }, async () => {
          const body = new Uint8Array(mutated(random, sample, 0));
          const answer = await fetch(url, { method: 'POST', body });
          return { status: answer.status, text: await answer.text() };
        }),
      );
      for (const { status, text } of answers) {
        statuses.add(status);
        expect(Object.keys(JSON.parse(text) as object)).toContain(status === 400 ? 'detail' : 'overallCode');
      }
    }

    expect([200, 400, 429]).toEqual(expect.arrayContaining([...statuses]));
    expect(statuses.size).toBeGreaterThan(1);
    expect(await served()).toBe('OK');
    expect((await service.memory()).used - before.used).toBeLessThan(MOST_GROWTH);
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
