import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { Client } from '@grpc/grpc-js';
import { METHODS, encodeRequest } from '../protocol.ts';
import { RawClient, frameOf, type RawAnswer } from '../raw-call.ts';
import { ask, connect, descriptor } from '../running-service.ts';
import { Attacker } from './attacker.ts';
import * as h2 from './frames.ts';
import { startServiceProcess, type Memory, type ServiceProcess } from './service-process.ts';

const LIMITS = `
domain: shop
descriptors:
  - key: user
    rate_limit: { unit: second, requests_per_unit: 1000000 }
`;
/** What the process may take more than before, in MiB: while clients attack, and once they have left. */
const MOST_DURING = 256;
const MOST_AFTER = 48;

/** How long a client tries to write more. */
const PATIENCE_MS = 500;

const PATH = METHODS.shouldRateLimit.path;
const MESSAGE = frameOf(encodeRequest({ domain: 'shop', descriptors: [descriptor('user=bad')] }));
const CALL = h2.callFields(PATH);
const BLOCK = h2.fieldBlock(CALL);
const HELLO = Buffer.concat([h2.PREFACE, h2.settings()]);

describe('other clients are served, and memory is bounded, while a client', () => {
  let service: ServiceProcess;
  let good: Client;
  let before: Memory;
  let attackers: Attacker[] = [];
  beforeAll(async () => {
    service = await startServiceProcess(LIMITS);
    good = connect(service.grpc);
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
    expect(await served()).toBe('OK');
    expect((await service.memory()).used - before.used).toBeLessThan(MOST_AFTER);
  });

  const served = async (): Promise<string> =>
    (await ask(good, { domain: 'shop', descriptors: [descriptor('user=good')] })).overallCode;
  const attack = async (count = 1, options: { reads?: boolean } = {}): Promise<readonly [Attacker, ...Attacker[]]> => {
    attackers = await Promise.all(Array.from({ length: count }, () => Attacker.connect(service.grpc, options)));
    for (const attacker of attackers) void attacker.write(HELLO);
    return attackers as [Attacker, ...Attacker[]];
  };
  /** Meanwhile: other clients, and memory. */
  const expectHealth = async (): Promise<void> => {
    expect(await served()).toBe('OK');
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

  it('calls and never reads, on many connections', async () => {
    const all = await attack(10, { reads: false });
    await Promise.all(
      all.map(async (attacker) => {
        for (let round = 0; round < 10; round++) {
          const calls = streams(500, 1 + round * 1000).map((stream) => h2.callFrames(stream, BLOCK, MESSAGE));
          if (!(await attacker.write(Buffer.concat(calls), PATIENCE_MS))) return;
        }
      }),
    );

    await expectHealth();
  });

  it('calls and gives no window for answers', async () => {
    const all = await attack(4);
    await Promise.all(
      all.map(async (attacker) => {
        await attacker.write(h2.settings([4, 0]));
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
    const raw = new RawClient(service.grpc);
    const descriptors = Array.from({ length: 100_000 }, () => descriptor('user=x'));
    const message = frameOf(encodeRequest({ domain: 'shop', descriptors }));
    const answers: RawAnswer[] = [];
    for (let round = 0; round < 5; round++) {
      answers.push(...(await Promise.all(Array.from({ length: 4 }, () => raw.call({ chunks: [message] })))));
    }
    raw.close();

    expect(answers.map(({ grpcStatus }) => grpcStatus)).toEqual(answers.map(() => 3));
    await expectHealth();
  });
});
