import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { DELAY, REMAINING, RESET_AFTER, RETRY_AFTER, USED } from '../../src/program/decide.ts';
import { MAKERS, parsePolicy, type Policy } from '../../src/policies/index.ts';
import type { Op } from '../../src/stores/store.ts';
import { NAMES } from './any-policy.ts';
import { ProgramStore } from './stores.ts';

interface Vector {
  readonly name: string;
  readonly policy: Readonly<Record<string, unknown>>;
  readonly steps: readonly {
    readonly at: number;
    readonly cost: number;
    readonly op?: 'consume' | 'peek' | 'refund' | 'charge';
    /** The step whose units are refunded, or charged more. Left out: no step, but the key. */
    readonly of?: number;
    readonly expect: readonly (number | null)[];
    readonly used?: number;
  }[];
}

/** What the program answers otherwise than the kernels, by design; without steps, a vector of what went. */
interface Changed extends Partial<Vector> {
  readonly algorithm: string;
  readonly replaces: string;
}
const changed = JSON.parse(readFileSync(new URL('changed-vectors.json', import.meta.url), 'utf8')) as Changed[];

/** Some 138 years: a whole multiple of every window and block in the vectors. */
const BASE_MS = 20 * 2520 * 86_400_000;
const OPS = { consume: 'take', peek: 'peek', refund: 'give', charge: 'charge' } as const;

function play({ steps }: Vector, policy: Policy): unknown[] {
  const store = new ProgramStore();
  const until: number[] = [];
  const seen: unknown[] = [];
  for (const { at, cost, op = 'consume', of, used } of steps) {
    store.clock.atMs = BASE_MS + at;
    const ask = { key: 'one', policy, cost };
    const isEdit = op === 'refund' || op === 'charge';
    const untilMs = of === undefined ? 0 : (until[of] ?? 0);
    if (isEdit) store.perform(OPS[op], [{ ...ask, holder: (of ?? 0) + 1, until: untilMs }]);
    const { atMs, figures } = isEdit
      ? store.perform('peek', [{ ...ask, cost: 0 }])
      : store.perform(OPS[op], [{ ...ask, holder: seen.length + 1 }]);
    const told = figures[0] ?? [];
    until.push(atMs + (told[RESET_AFTER] ?? 0));
    const retryAfterMs = told[RETRY_AFTER] === -1 ? null : told[RETRY_AFTER];
    const delay = told[DELAY] === 0 ? [] : [told[DELAY]];
    seen.push([told[0], told[REMAINING], retryAfterMs, told[RESET_AFTER], ...delay]);
    if (used !== undefined) expect(told[USED]).toBe(used);
  }
  return seen;
}

describe.each(NAMES)('the program and the vectors of %s', (algorithm) => {
  const name = algorithm.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
  const path = new URL(`vectors/${name}.json`, import.meta.url);
  const own = changed.filter((vector) => vector.algorithm === algorithm);
  const kept = (JSON.parse(readFileSync(path, 'utf8')) as Vector[]).filter(
    ({ name }) => !own.some(({ replaces }) => replaces === name),
  );
  const vectors = [...kept, ...own.filter((vector): vector is Changed & Vector => vector.steps !== undefined)];

  it.each(vectors)('$name', (vector) => {
    const isInterval = algorithm === 'intervalBucket';
    const make = MAKERS[isInterval ? 'tokenBucket' : algorithm] as (options: object) => Policy;

    const seen = play(vector, make({ ...vector.policy, ...(isInterval && { mode: 'interval' }) }));

    expect(seen).toEqual(vector.steps.map((step) => step.expect));
  });
});

const FIGURES = ['allowed', 'remaining', 'used', 'retry', 'reset', 'next', 'delay', 'blocked'] as const;

/** Every operation, of several policies on the keys that they name. */
interface Calls {
  readonly name: string;
  readonly policies: Readonly<Record<string, { readonly key?: string }>>;
  readonly steps: readonly {
    readonly at: number;
    readonly op: Op;
    /** The policies that take part. Left out: the only one. */
    readonly by?: readonly string[];
    readonly cost?: number;
    readonly until?: number;
    /** The step whose units are given back. */
    readonly of?: number;
    /** Figures of the first policy. */
    readonly expect?: Partial<Record<(typeof FIGURES)[number], number>>;
  }[];
}

describe('the program and the vectors of calls', () => {
  const all = JSON.parse(readFileSync(new URL('vectors/calls.json', import.meta.url), 'utf8')) as Calls[];

  it.each(all)('$name', ({ policies, steps }) => {
    const store = new ProgramStore();
    const asksBy = Object.fromEntries(
      Object.entries(policies).map(([name, { key = 'one', ...policy }]) => [
        name,
        { key, policy: parsePolicy(policy) },
      ]),
    );
    const taken: { until: number; holder: number }[] = [];
    for (const { at, op, by = Object.keys(policies), cost = 1, until: given = 0, of, expect: expected = {} } of steps) {
      store.clock.atMs = BASE_MS + at;
      const before = of === undefined ? { until: given } : taken[of];
      const asks = by.map((name) => ({ ...(asksBy[name] as { key: string; policy: Policy }), cost, ...before }));
      const { atMs, figures } = store.perform(op, asks);
      const told = Object.fromEntries(FIGURES.map((name, place) => [name, figures[0]?.[place]]));
      taken.push({ until: atMs + (told['reset'] ?? 0), holder: atMs });

      expect({ at, op, ...told }).toEqual({ at, op, ...told, ...expected });
    }
  });
});
