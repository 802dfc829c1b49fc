import { describe, expect, it } from '@jest/globals';
import { cases } from '@sluice/testkit';
import fc from 'fast-check';
import type { DescriptorEntry } from '../../src/config/configuration.ts';
import { read } from './reading.ts';

interface Descriptor {
  readonly key: string;
  readonly value: string;
  readonly rate_limit?: { readonly unit: string; readonly requests_per_unit: number };
  readonly descriptors: readonly Descriptor[];
}

/** What a descriptor matches, found by going through the file. */
function modelOf(descriptors: readonly Descriptor[], entries: readonly DescriptorEntry[]): number | undefined {
  let level = descriptors;
  let found: Descriptor | undefined;
  for (const { key, value } of entries) {
    const named = level.filter((one) => one.key === key);
    found =
      named.find((one) => one.value !== '' && one.value === value) ??
      named.find((one) => one.value.includes('*') && patternOf(one.value).test(value)) ??
      named.find((one) => one.value === '');
    if (found === undefined) return undefined;
    level = found.descriptors;
  }
  return found?.rate_limit?.requests_per_unit;
}

function patternOf(value: string): RegExp {
  const parts = value.split('*').map((part) => part.replaceAll(/[.+?^$()[\]{}|\\/]/g, String.raw`\$&`));
  return new RegExp(`^${parts.join('[^]*')}$`, 'u');
}

const key = fc.constantFrom('a', 'b', 'a_x');
const value = fc.oneof(
  { weight: 2, arbitrary: fc.constantFrom('', 'x', 'xy') },
  { weight: 2, arbitrary: fc.string({ unit: fc.constantFrom('x', 'y', '*', '_', '.'), maxLength: 5 }) },
);
const { list } = fc.letrec<{ list: readonly Descriptor[]; one: Descriptor }>((tie) => ({
  list: fc.uniqueArray(tie('one'), {
    maxLength: 6,
    selector: (one) => JSON.stringify([one.key, one.value]),
    depthIdentifier: 'rules',
  }),
  one: fc.record({
    key,
    value,
    rate_limit: fc.record({ unit: fc.constant('minute'), requests_per_unit: fc.nat(1_000_000) }),
    descriptors: fc.oneof({ maxDepth: 2, depthIdentifier: 'rules' }, fc.constant([]), tie('list')),
  }),
}));
const entries = fc.array(
  fc.record({ key, value: fc.string({ unit: fc.constantFrom('x', 'y', '*', '_', '.'), maxLength: 6 }) }),
  {
    maxLength: 4,
  },
);

describe('the tree of rules', () => {
  it('matches what a reader of the file finds', () => {
    fc.assert(
      fc.property(list, fc.array(entries, { minLength: 1, maxLength: 20 }), (descriptors, requests) => {
        // JSON is YAML.
        const rules = read(JSON.stringify({ domain: 'd', descriptors })).domains.get('d');

        for (const request of requests) {
          expect(rules?.match(request)?.rule.rateLimit?.requestsPerUnit).toBe(modelOf(descriptors, request));
        }
      }),
      { numRuns: cases(500) },
    );
  });
});
