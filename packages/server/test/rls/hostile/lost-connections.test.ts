import { afterEach, describe, expect, it } from '@jest/globals';
import { until } from '@sluice/testkit';
import { GrpcClient, readStatus } from '../grpc-client.ts';
import { PATHS } from '../protocol.ts';
import { descriptor, runService, type RunningService } from '../running-service.ts';
import { Attacker } from './attacker.ts';
import * as h2 from './frames.ts';

const LIMITS = 'domain: shop\ndescriptors: [{ key: user, rate_limit: { unit: day, requests_per_unit: 1000000 } }]\n';
const REQUEST = { domain: 'shop', descriptors: [descriptor('user=ann')] };
const BEGUN = h2.frame(h2.TYPE.headers, h2.END_HEADERS, 1, h2.fieldBlock(h2.callFields(PATHS.rateLimit)));

/** What ends the connection by the rules of HTTP/2. */
const ERRORS: readonly (readonly [string, Buffer])[] = [
  ['settings of five bytes', h2.frame(h2.TYPE.settings, 0, 0, Buffer.alloc(5))],
  ['a ping of nine bytes', h2.frame(h2.TYPE.ping, 0, 0, Buffer.alloc(9))],
  ['a frame above the largest size', h2.frame(h2.TYPE.data, 0, 1, Buffer.alloc(20_000))],
  ['fields that cannot be decompressed', h2.frame(h2.TYPE.headers, h2.END_HEADERS, 1, Buffer.alloc(20, 255))],
  ['a call and then such fields', Buffer.concat([BEGUN, h2.frame(h2.TYPE.headers, 5, 3, Buffer.alloc(20, 255))])],
  ['a window without end', h2.frame(h2.TYPE.windowUpdate, 0, 0, Buffer.from([127, 255, 255, 255]))],
  ['a continuation of nothing', h2.frame(h2.TYPE.continuation, h2.END_HEADERS, 1)],
  ['data of the connection', h2.frame(h2.TYPE.data, 0, 0, Buffer.alloc(5))],
  ['an even stream', h2.frame(h2.TYPE.headers, 5, 2, h2.fieldBlock(h2.callFields('/')))],
  ['nothing', Buffer.alloc(0)],
];

describe('a connection', () => {
  let running: RunningService;
  afterEach(() => running.close());
  const open = (): Promise<number> =>
    new Promise((resolve) => {
      running.rls.server.getConnections((_error, count) => {
        resolve(count);
      });
    });

  it.each(ERRORS)('that was sent %s is closed with its client', async (_what, bytes) => {
    running = await runService(LIMITS, { keepaliveMs: 20 });
    for (let i = 0; i < 3; i++) {
      const attacker = await Attacker.connect(running.port);
      await attacker.write(Buffer.concat([h2.PREFACE, h2.settings(), bytes]));
      // On a busy machine, its own pings may come too late.
      await until('another client is answered', async () => (await readStatus(running.ask(REQUEST))) === 'OK');
      attacker.close();
    }

    running.client.close();
    await until('no connection is left', async () => (await open()) === 0);
  });

  it('that does not answer pings is closed', async () => {
    running = await runService(LIMITS, { keepaliveMs: 20 });
    const attacker = await Attacker.connect(running.port);
    await attacker.write(Buffer.concat([h2.PREFACE, h2.settings()]));

    await attacker.closed;
    expect(attacker.receivedBytes).toBeGreaterThan(0);
  });

  it('without calls stays, as long as it answers pings', async () => {
    running = await runService(LIMITS, { keepaliveMs: 250 });
    const { session } = new GrpcClient(running.port);
    let pings = 0;
    session.on('ping', () => pings++);
    await until('it was asked often', () => pings >= 4);

    expect(await open()).toBe(1);
    expect(session.closed).toBe(false);
    session.destroy();
  });
});
