import { describe, expect, it } from '@jest/globals';
import { readConfiguration } from '../../src/config/read-configuration.ts';
import { makerOf } from '../../src/limits.ts';
import { LimiterCore } from '@sluice/core/spi';
import { match, problemsOf, read } from './reading.ts';

const SLOTS =
  /concurrency holds a slot until it is released, .*; write the policy under limits:, and use \/v1\/acquire/;

/** Options of every kind of policy, as a file writes them. */
const WRITTEN: Readonly<Record<string, string>> = {
  fixedWindow: '{ limit: 5, window: 1m }',
  slidingWindow: '{ limit: 5, window: 1m, precision: 6s }',
  slidingCounter: '{ limit: 5, window: 1m }',
  slidingLog: '{ limit: 5, window: 1m }',
  tokenBucket: '{ capacity: 20, refill: 10, every: 1s, mode: interval }',
  leakyBucket: '{ limit: 5, window: 1m, maxDelay: 2s }',
  concurrency: '{ limit: 5, ttl: 30s }',
};

function descriptor(sluice: string, more = ''): string {
  return `domain: d\ndescriptors:\n  - key: user\n    ${more}\n    sluice: ${sluice}\n`;
}

function limitOf(text: string): unknown {
  return match(read(text), 'd', 'user=ann')?.rule.limit;
}

describe('sluice, in place of rate_limit', () => {
  it.each(Object.keys(WRITTEN).filter((name) => name !== 'concurrency'))('takes %s', (kind) => {
    expect(limitOf(descriptor(`{ ${kind}: ${WRITTEN[kind] ?? ''} }`))).toMatchObject({ fixed: [{ name: 'user' }] });
  });

  it('takes options as the function of that name does', () => {
    expect(limitOf(descriptor('{ tokenBucket: { capacity: 20, refill: 10, every: 1s } }'))).toMatchObject({
      fixed: [{ policy: { algorithm: 'tokenBucket', capacity: 20, refill: 10, everyMs: 1_000 } }],
    });
  });

  it('takes several policies, each with a name', () => {
    const several =
      '[{ fixedWindow: { name: burst, limit: 5, window: 1s } }, { slidingLog: { name: day, limit: 9, window: 1d } }]';

    expect(limitOf(descriptor(several))).toMatchObject({ fixed: [{ name: 'burst' }, { name: 'day' }] });
  });

  it('has modes, a name and replaced rules beside it', () => {
    const text = descriptor(
      '{ slidingLog: { limit: 5, window: 1m } }',
      'shadow_mode: true\n    quota_mode: true\n    name: mine\n    replaces: [{ name: other }]',
    );

    expect(match(read(text), 'd', 'user=ann')?.rule).toMatchObject({
      name: 'mine',
      replaces: ['other'],
      shadowMode: true,
      quotaMode: true,
      rateLimit: undefined,
    });
  });

  it.each([
    ['its own', 'name: rule', '{ fixedWindow: { name: own, limit: 5, window: 1m } }', 'own'],
    ['that of its rule', 'name: rule', '{ fixedWindow: { limit: 5, window: 1m } }', 'rule'],
    [
      'its key, where the rule has a name that a policy cannot have',
      'name: 5 per minute',
      '{ fixedWindow: { limit: 5, window: 1m } }',
      'user',
    ],
  ])('names a policy by %s', (_what, more, sluice, expected) => {
    expect(limitOf(descriptor(sluice, more))).toMatchObject({ fixed: [{ name: expected }] });
  });

  it('names a policy limit where its key is no name', () => {
    const text = `domain: d\ndescriptors: [{ key: ':path', sluice: { fixedWindow: { limit: 5, window: 1m } } }]`;

    expect(match(read(text), 'd', ':path=/')?.rule.limit).toMatchObject({ fixed: [{ name: 'limit' }] });
  });

  it.each([
    [
      'an option that the policy does not have',
      '{ tokenBucket: { capacity: 20, refil: 10, every: 1s } }',
      '5:44: tokenBucket has no option "refil" (got 10); did you mean "refill"? [SLUICE_OPTION_UNKNOWN]',
    ],
    [
      'a duration that is none',
      '{ fixedWindow: { limit: 5, window: 1q } }',
      '5:48: window must be a duration such as 60_000 (milliseconds) or "60s", got "1q"; known units: ms, s, m, h, d [SLUICE_POLICY_INVALID]',
    ],
    [
      'an option that is missing',
      '{ fixedWindow: { limit: 5 } }',
      '5:15: window must be a duration such as 60_000 (milliseconds) or "60s", got undefined; known units: ms, s, m, h, d [SLUICE_POLICY_INVALID]',
    ],
    [
      'an unknown policy',
      '{ fixedwindow: { limit: 5, window: 1m } }',
      '5:15: sluice has no field "fixedwindow"; did you mean fixedWindow?',
    ],
    [
      'no policy',
      '{}',
      '5:5: sluice must hold a policy such as fixedWindow: { limit: 5, window: 1m }, or managed: and its name',
    ],
    [
      'a text',
      'fixedWindow',
      '5:13: sluice must hold a policy such as fixedWindow: { limit: 5, window: 1m }, or managed: and its name, got "fixedWindow"',
    ],
    [
      'options that are a number',
      '{ fixedWindow: 5 }',
      '5:28: fixedWindow must hold its options, such as { limit: 100, window: 1m }, got 5',
    ],
    ['no options', '{ fixedWindow: }', '5:15: fixedWindow must hold its options, such as { limit: 100, window: 1m }'],
    [
      'two policies in one map',
      '{ fixedWindow: { limit: 5, window: 1m }, slidingLog: { limit: 5, window: 1m } }',
      '5:54: sluice has two policies, fixedWindow and slidingLog; write a list of named ones',
    ],
    ['an empty list', '[]', '5:5: sluice must hold a policy, or a list of them, got an empty list'],
    [
      'a name that is none',
      '{ fixedWindow: { name: 5x, limit: 5, window: 1m } }',
      '5:36: name must be a letter followed by up to 63 letters, digits, ".", "-" or "_" (it is part of header fields and keys), got "5x" [SLUICE_POLICY_INVALID]',
    ],
    [
      'a managed policy in a list',
      '[{ managed: orders }]',
      '5:14: a managed policy stands alone: it cannot be one of a list',
    ],
    [
      'a managed policy whose name is none',
      '{ managed: "-" }',
      '5:24: name must be a letter followed by up to 63 letters, digits, ".", "-" or "_" (it is part of header fields and keys), got "-" [SLUICE_POLICY_INVALID]',
    ],
  ])('is wrong with %s', (_what, sluice, expected) => {
    expect(problemsOf(descriptor(sluice))).toEqual([expected]);
  });

  it('is wrong with two policies of a list that have no names', () => {
    const several = '[{ fixedWindow: { limit: 5, window: 1s } }, { slidingLog: { name: day, limit: 9, window: 1d } }]';

    expect(problemsOf(descriptor(several))).toEqual([expect.stringMatching(/^5:5: policy\[0\] needs a name: /)]);
  });

  it('is wrong beside rate_limit', () => {
    const text = descriptor(
      '{ slidingLog: { limit: 5, window: 1m } }',
      'rate_limit: { unit: day, requests_per_unit: 1 }',
    );

    expect(problemsOf(text)).toEqual(['5:5: a descriptor has rate_limit or sluice, not both; leave one of them out']);
  });

  it('is wrong with a policy that holds slots, and says where that goes', () => {
    expect(problemsOf(descriptor(`{ concurrency: ${WRITTEN['concurrency'] ?? ''} }`))).toEqual([
      expect.stringMatching(SLOTS),
    ]);
  });

  it('says where a policy is that the store cannot count', () => {
    const limitOfStore = (): never => {
      throw new Error('not a policy error');
    };

    expect(() =>
      readConfiguration(descriptor('{ slidingLog: { limit: 5, window: 1m } }'), { path: 'p', makeLimit: limitOfStore }),
    ).toThrow('not a policy error');
  });
});

describe('a managed policy', () => {
  it('is looked up by its name for each request, and the same one after each reload', () => {
    const [one, other] = [1, 2].map(() => match(read(descriptor('{ managed: orders }')), 'd', 'user=ann')?.rule.limit);

    expect([one?.name, one?.fixed]).toEqual(['orders', undefined]);
    expect(other).toBe(one);
  });

  it('without Redis is wrong at its line', () => {
    const core = new LimiterCore({ name: 'without' });

    expect(() => readConfiguration(descriptor('{ managed: orders }'), { path: 'p', makeLimit: makerOf(core) })).toThrow(
      /^p:5:5: a managed policy is kept in Redis/,
    );
  });
});

describe('limits', () => {
  it('are policies by their names, also such that hold slots', () => {
    const { limits } = read(
      'limits:\n  login: { fixedWindow: { limit: 5, window: 1m } }\n  jobs: { concurrency: { limit: 5, ttl: 30s } }\n',
    );

    expect([...limits.values()].map(({ name, policy }) => ({ name, policy }))).toEqual([
      { name: 'login', policy: expect.objectContaining({ algorithm: 'fixedWindow', name: 'login', limit: 5 }) },
      { name: 'jobs', policy: expect.objectContaining({ algorithm: 'concurrency', name: 'jobs', limit: 5 }) },
    ]);
  });

  it('are in a file without a domain, where no domain is known', () => {
    expect(read('limits: { login: { fixedWindow: { limit: 5, window: 1m } } }').domains.size).toBe(0);
  });

  it.each([
    [
      'a name that is none',
      'limits: { 9login: { fixedWindow: { limit: 5, window: 1m } } }',
      '1:11: the name of a limit must be a letter followed by up to 63 letters, digits, ".", "-" or "_", got "9login"',
    ],
    [
      'names that differ in case alone',
      'limits:\n  a: { fixedWindow: { limit: 5, window: 1m } }\n  A: { fixedWindow: { limit: 5, window: 1m } }',
      '3:3: the limit "A" has been defined at limits.yaml:2; names differ in more than case',
    ],
    [
      'a policy with another name',
      'limits: { a: { fixedWindow: { limit: 5, window: 1m, name: b } } }',
      '1:53: fixedWindow must not have a name here: a names it',
    ],
    [
      'nothing under a name',
      'limits:\n  a:\n',
      '2:3: a must hold a policy such as fixedWindow: { limit: 5, window: 1m }, or managed: and its name, got nothing',
    ],
    ['a list', 'limits: [a]', '1:1: limits must hold a policy under each name, got a list'],
  ])('are wrong with %s', (_what, text, expected) => {
    expect(problemsOf(text)).toEqual([expected]);
  });
});

describe('what /rlconfig writes', () => {
  it('is a line for each rule, in the order of the file', () => {
    const configuration = read(
      `
domain: shop
descriptors:
  - key: plan
    value: gold
    rate_limit: { unit: minute, requests_per_unit: 20 }
    descriptors:
      - { key: user, shadow_mode: true, rate_limit: { unit: DAY, requests_per_unit: 0 } }
  - { key: plan, quota_mode: true, rate_limit: { unit: week, requests_per_unit: 7 } }
  - { key: free, rate_limit: { unlimited: true } }
  - { key: inner, descriptors: [{ key: user, sluice: { tokenBucket: { capacity: 20, refill: 10, every: 1s } } }] }
  - { key: orders, sluice: { managed: orders } }
  - { key: "two\\nlines" , rate_limit: { unit: second, requests_per_unit: 1 } }
limits:
  login: { fixedWindow: { limit: 5, window: 1m } }
forward_auth:
  trusted_proxies: [10.0.0.1]
  rules: [{ name: api, policy: { slidingLog: { limit: 5, window: 1m } } }, { match: { paths: /health }, skip: true }]
`,
    );

    expect(configuration.written().split('\n')).toEqual([
      'shop.plan_gold: unit=MINUTE requests_per_unit=20, shadow_mode: false, quota_mode: false',
      'shop.plan_gold.user: unit=DAY requests_per_unit=0, shadow_mode: true, quota_mode: false',
      'shop.plan: unit=WEEK requests_per_unit=7, shadow_mode: false, quota_mode: true',
      'shop.free: unit=UNKNOWN requests_per_unit=0, shadow_mode: false, quota_mode: false, unlimited: true',
      'shop.inner.user: sluice="tokenBucket 20, 10 per 1s", shadow_mode: false, quota_mode: false',
      'shop.orders: sluice="managed orders", shadow_mode: false, quota_mode: false',
      'shop.two lines: unit=SECOND requests_per_unit=1, shadow_mode: false, quota_mode: false',
      'limits.login: fixedWindow 5 per 1m',
      'forward_auth.api: slidingLog 5 per 1m',
      'forward_auth.rule-2: skip',
      '',
    ]);
  });
});
