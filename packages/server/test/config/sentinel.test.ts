import { describe, expect, it } from '@jest/globals';
import type { Limit } from '@sluice/core/spi';
import { readParameter } from '../../src/config/sentinel-parameter.ts';
import { problemsOf, read } from './reading.ts';

/** A FlowRule as Nacos or Sentinel's dashboard has it. */
const FLOW = {
  ...{ resource: 'orders', limitApp: 'default', grade: 1, count: 20.5, strategy: 0, refResource: null },
  ...{ controlBehavior: 0, warmUpPeriodSec: 10, maxQueueingTimeMs: 500, clusterMode: true },
  clusterConfig: {
    ...{ flowId: 101, thresholdType: 1, fallbackToLocalWhenFail: true, strategy: 0, sampleCount: 5 },
    ...{ windowIntervalMs: 2000, resourceTimeout: 2000, resourceTimeoutStrategy: 0, acquireRefuseStrategy: 0 },
    clientOfflineTime: 2000,
  },
};
const PARAM = {
  ...{ resource: 'search', limitApp: 'default', grade: 1, paramIdx: 0, count: 5, clusterMode: true },
  paramFlowItemList: [
    { object: 'vip', count: 50, classType: 'java.lang.String' },
    { object: '7', count: 1, classType: 'int' },
  ],
  clusterConfig: { flowId: 101 },
};

function file(rules: readonly unknown[], more = 'namespace: checkout'): string {
  return `sentinel:\n  ${more}\n  rules: ${JSON.stringify(rules)}\n`;
}

describe('sentinel', () => {
  it('takes rules in the JSON of Sentinel, with what its dashboard writes around them', () => {
    const { sentinel } = read(file([FLOW, { id: 3, app: 'checkout', gmtCreate: 'today', rule: PARAM }]));

    expect(sentinel.flows.get(101n)?.numbers).toMatchObject({
      ...{ flowId: 101n, resource: 'orders', namespace: 'checkout', count: 20.5, perClient: false },
      ...{ windowIntervalMs: 2_000, sampleCount: 5, values: undefined },
    });
    expect(sentinel.params.get(101n)?.numbers).toMatchObject({
      ...{ flowId: 101n, resource: 'search', namespace: 'checkout', count: 5, perClient: true },
      ...{ windowIntervalMs: 1_000, sampleCount: 10 },
      values: new Map([
        ['string:vip', 50],
        ['int:7', 1],
      ]),
    });
    expect(sentinel.namespaces).toEqual(new Set(['checkout']));
  });

  it('counts units of a whole interval in blocks of a sample, the fraction of a unit dropped', () => {
    const limit = read(file([FLOW]))
      .sentinel.flows.get(101n)
      ?.limit(1) as Limit;

    expect(limit.fixed?.map(({ policy }) => policy)).toEqual([
      { algorithm: 'slidingWindow', name: 'flow-101', limit: 41, windowMs: 2_000, precisionMs: 400 },
    ]);
  });

  it('leaves rules that are not in cluster mode to the clients', () => {
    const { sentinel } = read(
      file([
        { resource: 'local', count: 5 },
        { ...FLOW, clusterMode: false, count: -1 },
      ]),
    );

    expect([sentinel.flows.size, sentinel.params.size]).toEqual([0, 0]);
  });

  it('may stand in several documents, one for each namespace', () => {
    const other = { ...FLOW, clusterConfig: { flowId: 102 } };
    const { sentinel } = read(`${file([FLOW])}---\n${file([other], 'namespace: search\n  maxClients: 50')}`);

    expect([...sentinel.flows.values()].map(({ numbers }) => [numbers.namespace, numbers.maxClients])).toEqual([
      ['checkout', 2 ** 31 - 1],
      ['search', 50],
    ]);
  });

  it.each<[string, string, string]>([
    ['no namespace', file([FLOW], 'maxClients: 5'), 'sentinel needs a namespace of 1 to 256 bytes'],
    [
      'one namespace twice',
      `${file([])}---\n${file([])}`,
      'the namespace "checkout" has been defined at limits.yaml:1',
    ],
    ['one flowId twice', file([FLOW, FLOW]), 'two rules of sentinel have the flowId 101'],
    ['no flowId', file([{ ...FLOW, clusterConfig: {} }]), 'needs clusterConfig.flowId, a whole number from 1'],
    [
      'a flowId that is too large',
      file([{ ...FLOW, clusterConfig: { flowId: '9'.repeat(19) } }]),
      'to 9223372036854775807',
    ],
    ['a negative count', file([{ ...FLOW, count: -1 }]), 'a rule of sentinel needs count, a number from 0'],
    ['no resource', file([{ ...FLOW, resource: undefined }]), 'a rule of sentinel needs a resource'],
    [
      'samples that do not divide the interval',
      file([{ ...FLOW, clusterConfig: { flowId: 1, sampleCount: 3 } }]),
      'sampleCount must divide windowIntervalMs, got 3 and 1000',
    ],
    [
      'an unknown threshold',
      file([{ ...FLOW, clusterConfig: { flowId: 1, thresholdType: 2 } }]),
      'thresholdType must be',
    ],
    [
      'a value that is not of its class',
      file([{ ...PARAM, paramFlowItemList: [{ object: 'x', count: 1, classType: 'long' }] }]),
      'object must be a value of its classType, got "x"',
    ],
    ['a value without a count', file([{ ...PARAM, paramFlowItemList: [{ object: 'x' }] }]), 'an item needs a count'],
  ])('with %s says what to write', (_what, text, message) => {
    expect(problemsOf(text)).toEqual([expect.stringContaining(message)]);
  });
});

describe('the value of an exception', () => {
  it.each([
    ['5', 'int', 'int:5'],
    ['+5', 'java.lang.Integer', 'int:5'],
    ['2147483648', 'int', undefined],
    ['9223372036854775807', 'java.lang.Long', 'long:9223372036854775807'],
    ['9223372036854775808', 'long', undefined],
    ['128', 'byte', undefined],
    ['-32768', 'short', 'short:-32768'],
    ['1.50', 'double', 'double:1.5'],
    ['0.1', 'float', `float:${String(Math.fround(0.1))}`],
    ['', 'float', undefined],
    ['TRUE', 'boolean', 'boolean:true'],
    ['yes', 'java.lang.Boolean', 'boolean:false'],
    ['5', '', 'string:5'],
  ])('%s of the class %s is %s', (text, classType, value) => {
    expect(readParameter(text, classType)).toBe(value);
  });
});
