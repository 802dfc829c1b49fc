import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { flow, framed, i32, i8, int, long, paramFlow, ping, text, type Answer } from './frames.ts';
import type { Served } from '../serve.ts';
import { SentinelClient } from './sentinel-client.ts';
import { limitsOf, serveSentinel } from './sentinel-service.ts';

/** Of the windows of these rules. Counts of single values are those of one second. */
const SECONDS = 3_600;
const ITEMS = [
  { object: 'vip', count: 3 },
  { object: '7', count: 0, classType: 'int' },
];
const RULES = limitsOf([
  { flowId: 101, count: 5 },
  ...[1, 2, 3].map((count) => ({ flowId: 200 + count, count, items: [] })),
  { flowId: 204, count: 10 * SECONDS, items: ITEMS },
]);
const TYPES = ['ping', 'flow', 'param'];
const STATUS: ReadonlyMap<number, string> = new Map([
  ...([
    [0, 'OK'],
    [1, 'BLOCKED'],
    [3, 'NO_RULE'],
    [-1, 'BAD'],
    [-4, 'BAD_REQUEST'],
  ] as const),
]);

let service: Served;
let client: SentinelClient;
beforeEach(async () => {
  service = await serveSentinel(RULES);
  client = await SentinelClient.connect(service);
});
afterEach(() => service.close());

/** Such as `flow 7 OK 3 0`: of request 7, which may pass, and leaves 3 units. */
function write({ type, xid, status, numbers }: Answer): string {
  return [TYPES[type], xid, STATUS.get(status), ...numbers].join(' ');
}

async function ask(...messages: readonly Buffer[]): Promise<readonly string[]> {
  return (await client.ask(...messages)).map(write);
}

describe('a request', () => {
  it.each(
    Object.entries<readonly [readonly Buffer[], readonly string[]]>({
      'takes units until the limit is used up, and tells how many are left': [
        [flow(7, 101, 2), flow(8, 101, 3), flow(9, 101, 1)],
        ['flow 7 OK 3 0', 'flow 8 OK 0 0', 'flow 9 BLOCKED 0 0'],
      ],
      'is told if no rule of its kind has the flowId': [
        [flow(1, 404), flow(2, 201), paramFlow(3, 404, 1, int(1)), paramFlow(4, 101, 1, int(1))],
        ['flow 1 NO_RULE 0 0', 'flow 2 NO_RULE 0 0', 'param 3 NO_RULE 0 0', 'param 4 NO_RULE 0 0'],
      ],
      'is told if flowId or count is not positive, or all values are of an unknown type': [
        [
          ...[flow(1, 0), flow(2, -101), flow(3, 101, 0), flow(4, 101, -1)],
          ...[paramFlow(5, 0, 1, int(1)), paramFlow(6, 201, 0, int(1)), paramFlow(7, 201, 1, i8(9))],
        ],
        [
          ...[1, 2, 3, 4].map((xid) => `flow ${String(xid)} BAD_REQUEST 0 0`),
          ...[5, 6, 7].map((xid) => `param ${String(xid)} BAD_REQUEST 0 0`),
        ],
      ],
      'has a limit for each value': [
        ['ann', 'ann', 'bob'].map((value, i) => paramFlow(i, 201, 1, text(value))),
        ['param 0 OK 0 0', 'param 1 BLOCKED 0 0', 'param 2 OK 0 0'],
      ],
      'with several values is one decision: where one denies, none is charged': [
        [
          paramFlow(1, 202, 2, text('used')),
          paramFlow(2, 202, 1, text('ann'), text('used')),
          paramFlow(3, 202, 2, text('ann'), text('bob')),
          paramFlow(4, 202, 1, text('ann')),
        ],
        ['param 1 OK 0 0', 'param 2 BLOCKED 0 0', 'param 3 OK -1 0', 'param 4 BLOCKED 0 0'],
      ],
      'with one value twice takes units for both': [
        [
          paramFlow(1, 203, 2, text('ann'), text('ann')),
          paramFlow(2, 203, 1, text('ann'), text('ann')),
          paramFlow(3, 203, 1, text('ann')),
        ],
        ['param 1 BLOCKED 0 0', 'param 2 OK -1 0', 'param 3 OK 0 0'],
      ],
      'keeps values of different types apart, as Java does, and texts that are not UTF-8': [
        [
          ...[int(1), long(1), text('1'), Buffer.concat([i8(2), i8(1)]), Buffer.concat([i8(6), i8(1)])],
          ...[text(Buffer.of(0xd6, 0xd0)), text(Buffer.of(0xce, 0xc4))],
        ].map((value, i) => paramFlow(i, 201, 1, value)),
        Array.from({ length: 7 }, (_, i) => `param ${String(i)} OK 0 0`),
      ],
      'has the counts of values that the rule names': [
        [
          paramFlow(1, 204, 3 * SECONDS, text('vip')),
          paramFlow(2, 204, 1, text('vip')),
          paramFlow(3, 204, 1, int(7)),
          paramFlow(4, 204, 10 * SECONDS, text('7')),
        ],
        ['param 1 OK 0 0', 'param 2 BLOCKED 0 0', 'param 3 BLOCKED 0 0', 'param 4 OK 0 0'],
      ],
      'of a PING without a name has the status BAD and nothing else': [
        [
          ping('  '),
          framed(i32(0), i8(0)),
          framed(i32(0), i8(0), i32(0)),
          framed(i32(0), i8(0), i32(-4), Buffer.from('name')),
        ],
        Array.from({ length: 4 }, () => 'ping 0 BAD'),
      ],
    }),
  )('%s', async (_what, [messages, answers]) => {
    expect(await ask(...messages)).toEqual(answers);
  });

  it('finds rules whose flowId no double holds', async () => {
    await service.reload(limitsOf([{ flowId: 1, count: 1 }]).replace('"flowId":1,', '"flowId":9007199254740993,'));

    expect(await ask(flow(1, 9_007_199_254_740_993n), flow(2, 9_007_199_254_740_992n))).toEqual([
      'flow 1 OK 0 0',
      'flow 2 NO_RULE 0 0',
    ]);
  });

  it('is decided by the rules of the last configuration, and keeps what it has used', async () => {
    await ask(flow(1, 101, 4));

    await service.reload(limitsOf([{ flowId: 101, count: 10 }]));

    expect(await ask(flow(2, 101, 1))).toEqual(['flow 2 OK 5 0']);
    await service.reload(limitsOf([]));
    expect(await ask(flow(3, 101, 1))).toEqual(['flow 3 NO_RULE 0 0']);
  });

  it('of PING is told how many clients of its namespace are connected', async () => {
    const other = await SentinelClient.connect(service);

    expect(await ask(ping('checkout'))).toEqual(['ping 0 OK 1']);
    expect((await other.ask(ping('checkout', 5), ping('search'))).map(write)).toEqual(['ping 5 OK 2', 'ping 0 OK 1']);
    expect(await ask(ping('checkout'))).toEqual(['ping 0 OK 1']);
  });
});
