import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { MAKERS, parsePolicy, type Policy } from '../../src/policies/index.ts';
import type { Op } from '../../src/stores/store.ts';
import { NAMES } from './any-policy.ts';
import { ProgramStore } from './stores.ts';

const FIGURES = ['allowed', 'remaining', 'used', 'retry', 'reset', 'next', 'delay', 'blocked'] as const;

interface Vector {
  readonly name: string;
  /** The options of the only policy, of the kind of the file. */
  readonly policy?: object;
  /** Several policies, each with its own key if it names one. */
  readonly policies?: Readonly<Record<string, { readonly key?: string }>>;
  readonly steps: readonly {
    readonly at: number;
    /** Default: take. */
    readonly op?: Op;
    /** The policies that take part. Default: all. */
    readonly by?: readonly string[];
    readonly cost?: number;
    readonly until?: number;
    /** The step whose units are given back, or charged more. */
    readonly of?: number;
    /**
     * Figures of the first policy, after an edit as a peek of it tells them: by name, or whether it is allowed, what
     * remains, the waits until it may be tried again (null: never) and until the key is unused, and a delay.
     */
    readonly expect?: readonly (number | null)[] | Partial<Record<(typeof FIGURES)[number], number>>;
    readonly used?: number;
  }[];
}

/** Some 138 years: a whole multiple of every window and block in the vectors. */
const BASE_MS = 20 * 2520 * 86_400_000;

describe.each([...NAMES, 'calls'])('the program and the vectors of %s', (kind) => {
  const file = kind.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
  const vectors = JSON.parse(readFileSync(new URL(`vectors/${file}.json`, import.meta.url), 'utf8')) as Vector[];
  const isInterval = kind === 'intervalBucket';
  const make = MAKERS[(isInterval ? 'tokenBucket' : kind) as 'tokenBucket'] as (options: object) => Policy;

  it.each(vectors)('$name', ({ policy, policies = {}, steps }) => {
    const asksBy = new Map(
      Object.entries(policies).map(([name, { key = 'one', ...one }]) => [name, { key, policy: parsePolicy(one) }]),
    );
    if (policy !== undefined)
      asksBy.set('only', { key: 'one', policy: make({ ...policy, ...(isInterval && { mode: 'interval' }) }) });
    const store = new ProgramStore();
    const taken: { until: number; holder: number }[] = [];
    for (const step of steps) {
      const { at, op = 'take', by = [...asksBy.keys()], cost = 1, until = 0, of, expect: expected = {}, used } = step;
      store.clock.atMs = BASE_MS + at;
      const asks = by.map((name) => {
        const ask = asksBy.get(name) as { key: string; policy: Policy };
        const holder = ask.policy.algorithm === 'concurrency' ? (of ?? taken.length) + 1 : 0;
        return { ...ask, cost, ...(of === undefined ? { until, holder } : taken[of]), ...(holder > 0 && { holder }) };
      });
      const decided = store.perform(op, asks);
      const isEdit = op === 'give' || op === 'charge';
      const { atMs, figures } = isEdit
        ? store.perform(
            'peek',
            asks.slice(0, 1).map((ask) => ({ ...ask, cost: 0 })),
          )
        : decided;
      const told = Object.fromEntries(FIGURES.map((name, place) => [name, figures[0]?.[place]]));
      taken.push({ until: atMs + (told['reset'] ?? 0), holder: atMs });
      const [allowed, remaining, retry, reset, delay = 0] = Array.isArray(expected) ? (expected as number[]) : [];
      const named = Array.isArray(expected) ? { allowed, remaining, retry: retry ?? -1, reset, delay } : expected;

      expect({ at, op, ...told }).toEqual({ at, op, ...told, ...named, ...(used !== undefined && { used }) });
    }
  });
});
