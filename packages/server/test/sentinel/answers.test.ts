import { afterEach, describe, expect, it } from '@jest/globals';
import { flow, framed, i32, i8, int, long, paramFlow, ping, text } from './frames.ts';
import type { SentinelClient } from './sentinel-client.ts';
import { SentinelService, limitsOf, type RuleFields } from './sentinel-service.ts';

const [OK, BLOCKED, NO_RULE, BAD, BAD_REQUEST] = [0, 1, 3, -1, -4];
/** Of the windows of these rules. Counts of single values are those of one second. */
const SECONDS = 3_600;

let service: SentinelService;
afterEach(() => service.close());

async function clientOf(rules: readonly RuleFields[]): Promise<SentinelClient> {
  service = await SentinelService.start(limitsOf(rules));
  return service.connect();
}

describe('a FLOW request', () => {
  it('takes units until the limit is used up, and tells how many are left', async () => {
    const client = await clientOf([{ flowId: 101, count: 5 }]);

    const answers = await client.ask(flow(7, 101, 2), flow(8, 101, 3), flow(9, 101, 1));

    expect(answers).toEqual([
      { xid: 7, type: 1, status: OK, numbers: [3, 0] },
      { xid: 8, type: 1, status: OK, numbers: [0, 0] },
      { xid: 9, type: 1, status: BLOCKED, numbers: [0, 0] },
    ]);
  });

  it('finds rules whose flowId no double holds', async () => {
    service = await SentinelService.start(
      limitsOf([{ flowId: 1, count: 1 }]).replace('"flowId":1,', '"flowId":9007199254740993,'),
    );
    const client = await service.connect();

    expect(await client.status(flow(1, 9_007_199_254_740_993n))).toBe(OK);
    expect(await client.status(flow(2, 9_007_199_254_740_992n))).toBe(NO_RULE);
  });

  it.each([
    ['a flowId without a rule', flow(1, 404), NO_RULE],
    ['a flowId of a rule with parameters', flow(1, 201), NO_RULE],
    ['a flowId of 0', flow(1, 0), BAD_REQUEST],
    ['a negative flowId', flow(1, -101), BAD_REQUEST],
    ['a count of 0', flow(1, 101, 0), BAD_REQUEST],
    ['a negative count', flow(1, 101, -1), BAD_REQUEST],
  ])('of %s is told so', async (_what, message, status) => {
    const client = await clientOf([
      { flowId: 101, count: 5 },
      { flowId: 201, count: 5, items: [] },
    ]);

    expect(await client.ask(message)).toEqual([{ xid: 1, type: 1, status, numbers: [0, 0] }]);
  });

  it('is decided by the rules of the last configuration, and keeps what it has used', async () => {
    const client = await clientOf([{ flowId: 101, count: 5 }]);
    await client.ask(flow(1, 101, 4));

    service.reload(limitsOf([{ flowId: 101, count: 10 }]));

    expect(await client.ask(flow(2, 101, 1))).toEqual([{ xid: 2, type: 1, status: OK, numbers: [5, 0] }]);
    service.reload(limitsOf([]));
    expect(await client.status(flow(3, 101, 1))).toBe(NO_RULE);
  });
});

describe('a PARAM_FLOW request', () => {
  it('has a limit for each value', async () => {
    const client = await clientOf([{ flowId: 201, count: 1, items: [] }]);

    const answers = await client.ask(
      paramFlow(1, 201, 1, text('ann')),
      paramFlow(2, 201, 1, text('ann')),
      paramFlow(3, 201, 1, text('bob')),
    );

    expect(answers.map(({ status }) => status)).toEqual([OK, BLOCKED, OK]);
  });

  it('with several values is one decision: where one denies, none is charged', async () => {
    const client = await clientOf([{ flowId: 201, count: 2, items: [] }]);
    await client.ask(paramFlow(1, 201, 2, text('used')));

    const answers = await client.ask(
      paramFlow(2, 201, 1, text('ann'), text('used')),
      paramFlow(3, 201, 2, text('ann'), text('bob')),
      paramFlow(4, 201, 1, text('ann')),
    );

    expect(answers).toEqual([
      { xid: 2, type: 2, status: BLOCKED, numbers: [0, 0] },
      { xid: 3, type: 2, status: OK, numbers: [-1, 0] },
      { xid: 4, type: 2, status: BLOCKED, numbers: [0, 0] },
    ]);
  });

  it('with one value twice takes units for both', async () => {
    const client = await clientOf([{ flowId: 201, count: 3, items: [] }]);

    const answers = await client.ask(
      paramFlow(1, 201, 2, text('ann'), text('ann')),
      paramFlow(2, 201, 1, text('ann'), text('ann')),
      paramFlow(3, 201, 1, text('ann')),
    );

    expect(answers.map(({ status }) => status)).toEqual([BLOCKED, OK, OK]);
  });

  it('keeps values of different types apart, as Java does', async () => {
    const client = await clientOf([{ flowId: 201, count: 1, items: [] }]);

    const answers = await client.ask(
      ...[int(1), long(1), text('1'), Buffer.concat([i8(2), i8(1)]), Buffer.concat([i8(6), i8(1)])].map((value, i) =>
        paramFlow(i, 201, 1, value),
      ),
    );

    expect(answers.map(({ status }) => status)).toEqual([OK, OK, OK, OK, OK]);
  });

  it('keeps texts apart that are not UTF-8: clients write in the encoding of their machine', async () => {
    const client = await clientOf([{ flowId: 201, count: 1, items: [] }]);

    const answers = await client.ask(
      paramFlow(1, 201, 1, text(Buffer.of(0xd6, 0xd0))),
      paramFlow(2, 201, 1, text(Buffer.of(0xce, 0xc4))),
    );

    expect(answers.map(({ status }) => status)).toEqual([OK, OK]);
  });

  it('has the counts of values that the rule names', async () => {
    const items = [
      { object: 'vip', count: 3 },
      { object: '7', count: 0, classType: 'int' },
    ];
    const client = await clientOf([{ flowId: 201, count: 10 * SECONDS, items }]);

    const answers = await client.ask(
      paramFlow(1, 201, 3 * SECONDS, text('vip')),
      paramFlow(2, 201, 1, text('vip')),
      paramFlow(3, 201, 1, int(7)),
      paramFlow(4, 201, 10 * SECONDS, text('7')),
    );

    expect(answers.map(({ status }) => status)).toEqual([OK, BLOCKED, BLOCKED, OK]);
  });

  it.each([
    ['a flowId without a rule', paramFlow(1, 404, 1, int(1)), NO_RULE],
    ['a flowId of a rule without parameters', paramFlow(1, 101, 1, int(1)), NO_RULE],
    ['a count of 0', paramFlow(1, 201, 0, int(1)), BAD_REQUEST],
    ['a flowId of 0', paramFlow(1, 0, 1, int(1)), BAD_REQUEST],
    ['a value of an unknown type alone', paramFlow(1, 201, 1, i8(9)), BAD_REQUEST],
  ])('of %s is told so', async (_what, message, status) => {
    const client = await clientOf([
      { flowId: 101, count: 5 },
      { flowId: 201, count: 5, items: [] },
    ]);

    expect(await client.ask(message)).toEqual([{ xid: 1, type: 2, status, numbers: [0, 0] }]);
  });
});

describe('a PING', () => {
  it('is told how many clients of its namespace are connected', async () => {
    const client = await clientOf([]);
    const other = await service.connect();

    expect(await client.ask(ping('checkout'))).toEqual([{ xid: 0, type: 0, status: OK, numbers: [1] }]);
    expect(await other.ask(ping('checkout', 5))).toEqual([{ xid: 5, type: 0, status: OK, numbers: [2] }]);
    expect(await other.ask(ping('search'))).toEqual([{ xid: 0, type: 0, status: OK, numbers: [1] }]);
    expect(await client.ask(ping('checkout'))).toEqual([{ xid: 0, type: 0, status: OK, numbers: [1] }]);
  });

  it.each([
    ['blank', ping('  ')],
    ['missing', framed(i32(0), i8(0))],
    ['empty', framed(i32(0), i8(0), i32(0))],
    ['of a negative length', framed(i32(0), i8(0), i32(-4), Buffer.from('name'))],
  ])('with a name that is %s gets the status BAD and nothing else', async (_what, message) => {
    const client = await clientOf([]);

    expect(await client.ask(message)).toEqual([{ xid: 0, type: 0, status: BAD, numbers: [] }]);
  });
});
