import { describe, expect, it } from '@jest/globals';
import { LimiterCore } from '@sluice/core/spi';
import { buildConfiguration } from '../../src/config/configuration.ts';
import { readConfiguration } from '../../src/config/read-configuration.ts';
import { makeLimitMaker } from '../../src/limits.ts';
import { match, problemsOf, read } from './reading.ts';

const FIXED = '{ fixedWindow: { limit: 5, window: 1m } }';
const EXPECTED = 'a policy such as fixedWindow: { limit: 5, window: 1m }, or managed: and its name';
const NAME = 'a letter followed by up to 63 letters, digits, ".", "-" or "_"';

function descriptor(sluice: string, more = ''): string {
  return `domain: d\ndescriptors:\n  - key: user\n    ${more}\n    sluice: ${sluice}\n`;
}

function limitOf(text: string, entry = 'user=ann'): unknown {
  return match(read(text), 'd', entry)?.rule.limit;
}

describe('sluice, in place of rate_limit', () => {
  it.each([
    ['slidingWindow: { limit: 5, window: 1m, precision: 6s }', { limit: 5, windowMs: 60_000, precisionMs: 6_000 }],
    ['slidingCounter: { limit: 5, window: 1m }', { limit: 5, windowMs: 60_000 }],
    ['slidingLog: { limit: 5, window: 1m }', { limit: 5, windowMs: 60_000 }],
    ['tokenBucket: { capacity: 20, refill: 10, every: 1s, mode: interval }', { capacity: 20, everyMs: 1_000 }],
    ['leakyBucket: { limit: 5, window: 1m, maxDelay: 2s }', { limit: 5, maxDelayMs: 2_000 }],
  ])('takes %s', (policy, numbers) => {
    expect(limitOf(descriptor(`{ ${policy} }`))).toMatchObject({ fixed: [{ name: 'user', policy: numbers }] });
  });

  it('takes several policies, each with a name', () => {
    const several = `[{ fixedWindow: { name: burst, limit: 5, window: 1s } }, { slidingLog: { name: day, limit: 9, window: 1d } }]`;
    expect(limitOf(descriptor(several))).toMatchObject({ fixed: [{ name: 'burst' }, { name: 'day' }] });
  });

  it('has modes, a name and replaced rules beside it', () => {
    const more = 'shadow_mode: true\n    quota_mode: true\n    name: mine\n    replaces: [{ name: other }]';
    expect(match(read(descriptor(FIXED, more)), 'd', 'user=ann')?.rule).toMatchObject({
      ...{ name: 'mine', replaces: ['other'], shadowMode: true, quotaMode: true, rateLimit: undefined },
    });
  });

  it.each([
    ['its own', 'user', 'name: rule', '{ fixedWindow: { name: own, limit: 5, window: 1m } }', 'own'],
    ['that of its rule', 'user', 'name: rule', FIXED, 'rule'],
    ['its key, if the rule has a name that a policy cannot have', 'user', 'name: 5 per minute', FIXED, 'user'],
    ['limit, if its key is no name either', ':path', '', FIXED, 'limit'],
  ])('names a policy by %s', (_what, key, more, sluice, expected) => {
    const text = descriptor(sluice, more).replace('key: user', `key: '${key}'`);
    expect(limitOf(text, `${key}=ann`)).toMatchObject({ fixed: [{ name: expected }] });
  });

  it.each(
    Object.entries({
      '{ tokenBucket: { capacity: 20, refil: 10, every: 1s } }':
        '5:44: tokenBucket has no option "refil" (got 10); did you mean "refill"? [SLUICE_OPTION_UNKNOWN]',
      '{ fixedWindow: { limit: 5, window: 1q } }':
        '5:48: window must be a duration such as 60_000 (milliseconds) or "60s", got "1q"; known units: ms, s, m, h, d [SLUICE_POLICY_INVALID]',
      '{ fixedwindow: {} }': '5:15: sluice has no field "fixedwindow"; did you mean fixedWindow?',
      '{}': `5:5: sluice must hold ${EXPECTED}`,
      '{ fixedWindow: 5 }': '5:28: fixedWindow must hold its options, such as { limit: 100, window: 1m }, got 5',
      '{ fixedWindow: }': '5:15: fixedWindow must hold its options, such as { limit: 100, window: 1m }',
      '{ fixedWindow: { limit: 5, window: 1m }, slidingLog: {} }':
        '5:54: sluice has two policies, fixedWindow and slidingLog; write a list of named ones',
      '[]': '5:5: sluice must hold a policy, or a list of them, got an empty list',
      '[{ managed: orders }]': '5:14: a managed policy cannot be part of a list',
      '{ managed: "-" }': `5:24: managed must be the name of a policy: ${NAME}, got "-"`,
      [`[${FIXED}, ${FIXED}]`]: expect.stringMatching(/^5:5: policy\[0\] needs a name, /),
      '{ concurrency: { limit: 5, ttl: 30s } }':
        "5:15: concurrency holds a slot until it is released, and Envoy's protocol has no release; write the policy under limits:, and use /v1/acquire and /v1/release",
    }),
  )('is wrong with %s', (sluice, expected) => {
    expect(problemsOf(descriptor(sluice))).toEqual([expected]);
  });

  it('is wrong beside rate_limit', () => {
    expect(problemsOf(descriptor(FIXED, 'rate_limit: { unit: day, requests_per_unit: 1 }'))).toEqual([
      '5:5: a descriptor has rate_limit or sluice, not both; leave one of them out',
    ]);
  });
});

describe('a managed policy', () => {
  it('is looked up by its name for each request', () => {
    const limit = match(read(descriptor('{ managed: orders }')), 'd', 'user=ann')?.rule.limit;
    expect([limit?.name, limit?.fixed]).toEqual(['orders', undefined]);
  });

  it('without Redis is wrong at its line', () => {
    const data = readConfiguration([{ path: 'p', text: descriptor('{ managed: orders }') }]);
    expect(() => buildConfiguration(data, makeLimitMaker(new LimiterCore({ name: 'without' })))).toThrow(
      /^p:5:5: a managed policy is kept in Redis/,
    );
  });
});

describe('limits', () => {
  it('are policies by their names, also such that hold slots', () => {
    const { limits, domains } = read(`limits:\n  login: ${FIXED}\n  jobs: { concurrency: { limit: 5, ttl: 30s } }\n`);
    expect([domains.size, [...limits].map(([name, limit]) => [name, limit.fixed?.[0]?.name, limit.mayHold])]).toEqual([
      0,
      [
        ['login', 'login', false],
        ['jobs', 'jobs', true],
      ],
    ]);
  });

  it.each([
    [`limits: { 9login: ${FIXED} }`, `1:11: the name of a limit must be ${NAME}, got "9login"`],
    [
      `limits:\n  a: ${FIXED}\n  A: ${FIXED}`,
      '3:3: the limit "A" has been defined at limits.yaml:2; names differ in more than case',
    ],
    ['limits: { a: { fixedWindow: { name: b } } }', '1:31: fixedWindow must not have a name here: a names it'],
  ])('are wrong in %j', (text, expected) => {
    expect(problemsOf(text)).toEqual([expected]);
  });
});
