import { describe, expect, it } from '@jest/globals';
import '../../core/src/policies/index.ts'; // fills ALGORITHMS, also if the package is built
import { ALGORITHMS } from '../../core/src/policies/rule.ts';
import { POLICY_KINDS, checkedPolicies, newPolicy, optionsOf, withNames } from '../src/index.ts';

describe('the kinds of policies', () => {
  it('are those that there are', () => {
    expect(POLICY_KINDS.map(({ id }) => id).sort()).toEqual([...ALGORITHMS.keys()].sort());
  });

  it.each(POLICY_KINDS.map(({ id }) => id))('have a field for every option of %s', (id) => {
    const { fields, fixed = {} } = POLICY_KINDS.find((kind) => kind.id === id) as (typeof POLICY_KINDS)[number];
    const options = ALGORITHMS.get(id)?.shape.flatMap((part) => Object.keys(part)) ?? [];
    const names = ['name', ...fields.map(({ name }) => name), ...Object.keys(fixed)];

    // The mode of a token bucket is chosen by its kind.
    expect(new Set([...names, ...(id === 'tokenBucket' ? ['mode'] : [])])).toEqual(new Set(options));
  });

  it.each(POLICY_KINDS.map(({ id }) => id))('start %s with values that it takes', (id) => {
    const { policies, errors } = checkedPolicies([newPolicy(id)]);

    expect(errors).toEqual([]);
    expect(policies).toHaveLength(1);
  });
});

describe('the options of a policy', () => {
  it('leave out what is empty or has its default', () => {
    const values = { limit: ' 5 ', window: '1m', align: 'first-hit' };

    expect(optionsOf({ kind: 'fixedWindow', name: '', values })).toEqual({ limit: 5, window: '1m' });
  });

  it('have numbers as such', () => {
    const values = { limit: '5', window: '1m', align: 'clock' };

    expect(optionsOf({ kind: 'fixedWindow', name: 'calls', values })).toEqual({
      name: 'calls',
      limit: 5,
      window: '1m',
      align: 'clock',
    });
  });
});

describe('a mistake', () => {
  const wrong = (kind: string, values: Readonly<Record<string, string>>, name = ''): unknown =>
    checkedPolicies([{ kind, name, values }]).errors;

  it.each([
    ['slidingWindow', { limit: 'ten', window: '1m' }, 'limit'],
    ['slidingWindow', { limit: '', window: '1m' }, 'limit'],
    ['slidingWindow', { limit: '10', window: '60 parsecs' }, 'window'],
    ['slidingWindow', { limit: '10', window: '' }, 'window'],
    ['slidingWindow', { limit: '10', window: '10s', precision: '3s' }, 'precision'],
    ['fixedWindow', { limit: '10', window: '10s', align: 'never' }, 'align'],
    ['tokenBucket', { capacity: '0', refill: '1', every: '1s' }, 'capacity'],
    ['leakyBucket', { limit: '10', window: '10s', maxDelay: 'later' }, 'maxDelay'],
    ['concurrency', { limit: '10', ttl: '-1s' }, 'ttl'],
  ])('in %s %p belongs to a field', (kind, values, field) => {
    expect(wrong(kind, values)).toEqual([{ policy: 0, field, message: expect.stringContaining(field) }]);
  });

  it('in a name belongs to it', () => {
    expect(wrong('slidingWindow', { limit: '1', window: '1m' }, '9 lives')).toMatchObject([{ field: 'name' }]);
  });

  it('is told of each policy', () => {
    const bad = { kind: 'slidingLog', name: '', values: { limit: 'x', window: '1m' } };

    expect(checkedPolicies(withNames([bad, newPolicy('fixedWindow'), bad])).errors).toMatchObject([
      { policy: 0 },
      { policy: 2 },
    ]);
  });
});

describe('the names of several policies', () => {
  it('say what they are for, and differ', () => {
    const choices = ['fixedWindow', 'slidingWindow', 'tokenBucket', 'concurrency'].map((kind) => newPolicy(kind));

    expect(withNames(choices).map(({ name }) => name)).toEqual(['per-20s', 'per-20s-2', 'burst', 'at-once']);
    expect(checkedPolicies(withNames(choices)).errors).toEqual([]);
  });

  it('stay as they are where they were given', () => {
    expect(withNames([newPolicy('leakyBucket', 'Pace'), newPolicy('leakyBucket')]).map(({ name }) => name)).toEqual([
      'Pace',
      'pace-2',
    ]);
  });

  it('are told of when two are equal', () => {
    expect(checkedPolicies([newPolicy('slidingLog', 'a'), newPolicy('slidingLog', 'A')]).errors).toMatchObject([
      { policy: 1, field: 'name' },
    ]);
  });
});
