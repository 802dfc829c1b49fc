import { connect, type ClientHttp2Session } from 'node:http2';
import { afterEach, describe, expect, it } from '@jest/globals';
import { until } from '@sluice/testkit';
import { OpenCalls, type CallConnection, type OpenCall } from '../../src/grpc/open-calls.ts';
import { METHODS } from '../rls/protocol.ts';
import { descriptor, runService } from '../rls/running-service.ts';

const LIMITS = 'domain: shop\ndescriptors: [{ key: user, rate_limit: { unit: day, requests_per_unit: 1000000 } }]\n';
const MOST_CALLS = 2048;
const MIB = 1024 * 1024;
const ENHANCE_YOUR_CALM = 11;

let calls = new OpenCalls();
afterEach(() => {
  calls.close();
  calls = new OpenCalls();
});

function connection(isOfGateway = false): CallConnection & { calmed: number } {
  const made = {
    ...{ isOfGateway, calls: 0, heldBytes: 0, isEnded: false, calmed: 0 },
    calm: () => {
      made.calmed++;
    },
  };
  return made;
}

type TestCall = OpenCall & { heldBytes: number; readonly isDropped: boolean };

/** Begins a call. Returns undefined where it is not taken. */
function begin(on: CallConnection, ageMs = 0): TestCall | undefined {
  const call = {
    ...{ older: undefined, newer: undefined, heldBytes: 0, connection: on },
    ...{ arrivedAtMs: performance.now() - ageMs, isDropped: false },
    drop: () => {
      call.isDropped = true;
      calls.delete(call);
    },
  };
  return calls.add(call) ? call : undefined;
}

function hold(call: TestCall | undefined, bytes: number): boolean {
  if (call === undefined) throw new Error('the call was not taken');
  call.heldBytes += bytes;
  return calls.held(call, bytes);
}

describe('where too many calls are open', () => {
  it('the connection that has most of the old ones is closed, and room is there at once', () => {
    const [honest, hoarder] = [connection(), connection()];
    begin(honest, 1000);
    for (let i = 1; i < MOST_CALLS; i++) begin(hoarder, 900);

    expect(begin(honest)).toBeDefined();
    expect([honest.calmed, hoarder.calmed]).toEqual([0, 1]);
    expect(calls.size).toBe(2);
  });

  it('none is closed while all are young, and the new one is not taken', () => {
    const busy = connection();
    for (let i = 0; i < MOST_CALLS; i++) begin(busy, -60_000); // young, however long this takes

    expect(begin(busy)).toBeUndefined();
    expect(busy.calmed).toBe(0);
  });

  it('counts none twice when the streams of a closed connection end', () => {
    const [hoarder, other] = [connection(), connection()];
    const old = Array.from({ length: MOST_CALLS }, () => begin(hoarder, 900));
    begin(other);
    for (const call of old) if (call !== undefined) calls.delete(call);

    expect(calls.size).toBe(1);
    expect(other.calls).toBe(1);
  });
});

describe('a gateway', () => {
  it('keeps its connection, and loses its oldest call, where it has most', () => {
    const [client, gateway] = [connection(), connection(true)];
    begin(client, 1000);
    const old = Array.from({ length: MOST_CALLS - 1 }, () => begin(gateway, 900));

    expect(begin(client)).toBeDefined();
    expect([client.calmed, gateway.calmed]).toEqual([0, 0]);
    expect(old.map((call) => call?.isDropped).indexOf(false)).toBe(1);
    expect(calls.size).toBe(MOST_CALLS);
  });

  it('loses as many of its oldest calls as take too much memory together', () => {
    const gateway = connection(true);
    const old = Array.from({ length: 8 }, () => begin(gateway, 900));
    for (const call of old) hold(call, 2 * MIB);
    const next = begin(gateway);

    expect(hold(next, 3 * MIB)).toBe(true);
    expect(old.map((call) => call?.isDropped)).toEqual([true, true, ...Array.from({ length: 6 }, () => false)]);
    expect(gateway.calmed).toBe(0);
  });
});

describe('where incomplete messages take too much memory', () => {
  it('the connection that holds too much is closed', () => {
    const [one, other] = [connection(), connection()];
    const first = begin(one);
    hold(begin(other), 4 * MIB);

    expect(hold(first, 4 * MIB)).toBe(true);
    hold(begin(one), 4 * MIB);
    expect([one.calmed, other.calmed]).toEqual([1, 0]);
  });

  it('of all together, the one that holds most of the old ones is closed', () => {
    const all = Array.from({ length: 5 }, connection);
    const old = all.map((one) => begin(one, 1000));
    for (const call of old.slice(1)) hold(call, 3 * MIB);
    hold(old[0], 5 * MIB);

    expect(all.map(({ calmed }) => calmed)).toEqual([1, 0, 0, 0, 0]);
    expect(hold(begin(connection()), MIB)).toBe(true);
  });

  it('a call is not taken further where all are young', () => {
    for (let i = 0; i < 4; i++) hold(begin(connection()), 4 * MIB);

    expect(hold(begin(connection()), 1)).toBe(false);
  });
});

describe('a service', () => {
  it('closes connections that begin calls without end, with ENHANCE_YOUR_CALM, and answers others', async () => {
    const running = await runService(LIMITS);
    const sessions: ClientHttp2Session[] = [];
    const codes: number[] = [];
    const fields = {
      ...{ ':method': 'POST', ':path': METHODS.shouldRateLimit.path },
      ...{ 'content-type': 'application/grpc', te: 'trailers' },
    };
    const beginMany = (): void => {
      const session = connect(`http://127.0.0.1:${String(running.port)}`);
      session.on('error', () => undefined).on('goaway', (code: number) => codes.push(code));
      for (let i = 0; i < 100; i++) session.request(fields).on('error', () => undefined);
      sessions.push(session);
    };
    await until('one is closed', () => {
      beginMany();
      return codes.length > 0;
    });

    expect(codes).toContain(ENHANCE_YOUR_CALM);
    expect(await running.ask({ domain: 'shop', descriptors: [descriptor('user=ann')] })).toMatchObject({
      overallCode: 'OK',
    });
    for (const session of sessions) session.destroy();
    await running.close();
  });
});
