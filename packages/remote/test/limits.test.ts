import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { escalate, fixedWindow, type Limit } from '@sluice/old-core';
import { keySuffixOf, namePolicies } from '@sluice/old-core/spi';
import { limitToJson, limitFromJson } from '@sluice/remote/wire';
import { cases, testSeed } from '@sluice/testkit';
import { references } from '../../old-core/test/laws/models/index.ts';

const anyPolicy = fc.oneof(...references.map(({ policies }) => policies));
const lists = fc.array(anyPolicy, { minLength: 1, maxLength: 4 });

const overTheWire = (limit: Limit): Limit => limitFromJson(JSON.parse(JSON.stringify(limitToJson(limit))));

function limitOf(policies: readonly unknown[], name = 'orders'): Limit {
  const named = namePolicies(policies, name);
  return { policies: named, keySuffix: keySuffixOf(name, named) };
}

describe('a limit that a client sends', () => {
  it('has the same policies there, whatever they are', () => {
    fc.assert(
      fc.property(lists, (policies) => {
        const limit = limitOf(policies.map((policy, i) => ({ ...policy, name: `p${String(i)}` })));

        expect(overTheWire(limit)).toEqual({ ...limit, fastPathEligible: expect.any(Boolean) });
      }),
      { seed: testSeed(1), numRuns: cases(200) },
    );
  });

  it('has its escalation, and may not be decided in a batch then', () => {
    const escalation = escalate({ after: 3, block: '1m', decay: '1h' });
    const limit = { ...limitOf([fixedWindow({ limit: 5, window: '1m' })]), escalation };

    expect(overTheWire(limit)).toMatchObject({ escalation, fastPathEligible: false });
  });

  it('has its version, and the earlier ones', () => {
    const [now, before] = [5, 9].map((limit) => namePolicies(fixedWindow({ limit, window: '1m' }), 'shown'));
    const earlier = new Map<number, unknown>([
      [3, { carryOver: 'keep', policies: before }],
      [2, { carryOver: 'reset', policies: [] }],
      [1, 'unknown'],
    ]);
    const limit = { policies: now, keySuffix: ':orders:2m', policyVersion: { version: 4, earlier } } as Limit;

    expect(overTheWire(limit)).toEqual({ ...limit, fastPathEligible: false });
  });

  const good = JSON.parse(JSON.stringify(limitToJson(limitOf([fixedWindow({ limit: 5, window: '1m' })])))) as {
    readonly keySuffix: string;
    readonly policies: [[string, Record<string, unknown>]];
  };
  const [[name, policy]] = good.policies;

  it.each([
    ['no object', [], 'limit takes an object'],
    ['a limit that is no number', { ...good, policies: [[name, { ...policy, limit: '5' }]] }, 'limit must be a whole'],
    [
      'a limit beyond all bounds',
      { ...good, policies: [[name, { ...policy, limit: 1e300 }]] },
      'limit must be a whole',
    ],
    ['a window of no time', { ...good, policies: [[name, { ...policy, windowMs: 0 }]] }, 'windowMs must be'],
    ['another algorithm', { ...good, policies: [[name, { ...policy, algorithm: 'guess' }]] }, 'must be a policy'],
    ['a name that is none', { ...good, policies: [['a b', policy]] }, 'must be a letter followed'],
    ['no policy', { ...good, policies: [] }, 'limit.policies must be an array of 1 to 64'],
    ['two policies of one name', { ...good, policies: [good.policies[0], good.policies[0]] }, 'names must be unique'],
    ['the keys of another policy', { ...good, keySuffix: ':orders:2s' }, 'run the same release of @sluice/core'],
    ['the keys of another layout', { ...good, keySuffix: ':orders:9f' }, 'end with ":orders:2f", and the client under'],
    ['a key of its own', { ...good, keySuffix: 'policies' }, 'run the same release'],
    ['a key without end', { ...good, keySuffix: `:${'x'.repeat(65)}:2f` }, 'run the same release'],
    ['no key', { policies: good.policies }, 'run the same release'],
    ['an option of a later release', { ...good, burst: 1 }, 'limit has no option "burst"'],
    ['an escalation that is none', { ...good, escalation: { after: 0, blocksMs: [1], decayMs: 1 } }, 'escalate.after'],
    ['a version of nothing', { ...good, version: [1] }, 'limit.version must be an array of 2'],
    ['a version below 0', { ...good, keySuffix: ':orders:2m', version: [-1, []] }, 'limit.version must be a whole'],
    ['an unknown way to carry over', { ...good, version: [1, [[0, 'lose', []]]] }, 'a way to carry states over'],
    ['units of no policy', { ...good, version: [1, [[0, 'keep', []]]] }, 'limit.policies must be an array of 1'],
  ])('with %s is an error that says so', (_what, given, message) => {
    expect(() => limitFromJson(given)).toThrow(message);
  });
});
