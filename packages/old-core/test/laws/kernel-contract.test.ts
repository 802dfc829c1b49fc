import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { algorithmOf } from '@sluice/old-core/spi';
import { cases, seeded } from '@sluice/testkit';
import { references } from './models/index.ts';
import { START_MS, nextInstant } from '../traces/step.ts';
import { seed } from './scene.ts';

const deepFreeze = <T>(value: T): T => {
  if (typeof value === 'object' && value !== null) Object.values(Object.freeze(value)).forEach(deepFreeze);
  return value;
};

describe.each(references)('the kernel of $algorithm', ({ policies }) => {
  const walks = fc.record({ policy: policies, own: fc.nat() });

  it('changes no state in place, and returns the same object when it consumes nothing', () => {
    fc.assert(
      fc.property(walks, ({ policy, own }) => {
        const { kernel, windowMs } = algorithmOf(policy);
        const random = seeded(own);
        let state: unknown;
        let atMs = START_MS;
        for (let step = 0; step < 40; step++) {
          const shown = kernel(policy, state, 0, atMs);
          const lastSeen = [{ ...shown.verdict, name: 'walk', windowMs: windowMs(policy) }];
          atMs = nextInstant(random, atMs, { lastSeen, taken: [], mayGoBack: true });
          const cost = random.pick([1, 1, 2, shown.verdict.remaining, shown.verdict.limit + 1]);

          const { state: after, verdict } = kernel(policy, state, cost, atMs, String(step + 1));

          expect(kernel(policy, state, 0, atMs).state).toBe(state);
          expect(after === state).toBe(!verdict.allowed || cost === 0);
          state = deepFreeze(after);
        }
      }),
      { numRuns: cases(40), seed },
    );
  });

  it('writes states as text and reads them back as they were', () => {
    fc.assert(
      fc.property(walks, ({ policy, own }) => {
        const { kernel, encode, decode } = algorithmOf(policy);
        const random = seeded(own);
        let state: unknown;
        for (let step = 0; step < 20; step++) {
          const cost = random.integer(1, Math.max(kernel(policy, state, 0, START_MS).verdict.limit, 1));
          state = kernel(policy, state, cost, START_MS + step * random.integer(0, 10_000), String(step + 1)).state;
          if (state === undefined) continue;

          expect(encode(state)).toMatch(/^[\d:]+$/);
          expect(decode(encode(state))).toEqual(state);
        }
      }),
      { numRuns: cases(40), seed },
    );
  });

  it('reports as the end of a state the instant in its verdict', () => {
    fc.assert(
      fc.property(policies, fc.nat(1_000_000), (policy, aheadMs) => {
        const { kernel, resetAtMs } = algorithmOf(policy);
        const { state, verdict } = kernel(policy, undefined, 1, START_MS + aheadMs);
        fc.pre(verdict.limit > 0);

        expect(resetAtMs(policy, state)).toBe(START_MS + aheadMs + verdict.resetAfterMs);
      }),
      { numRuns: cases(300), seed },
    );
  });

  it('rejects text that it does not write', () => {
    const algorithm = algorithmOf(fc.sample(policies, { seed, numRuns: 1 })[0]);

    const read = ['', 'x', 'hello', '12', '-1:5', '1.5:1', 'NaN', '1:-1', '9007199254740993:1', '1:2:x'].map(
      algorithm.decode,
    );

    expect(read).toEqual(read.map(() => undefined));
  });

  it('passes its Lua twin the expected number of integers', () => {
    fc.assert(
      fc.property(policies, (policy) => {
        const { name, numbers } = algorithmOf(policy);
        const folder = name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
        const twin = readFileSync(new URL(`../../src/algorithms/${folder}/kernel.lua`, import.meta.url), 'utf8');

        expect(numbers(policy)).toHaveLength(Number(/arity = (\d+)/.exec(twin)?.[1]));
        expect(numbers(policy).filter((number) => !Number.isSafeInteger(number))).toEqual([]);
      }),
      { numRuns: cases(50), seed },
    );
  });

  it('checks a policy that was made by hand, and freezes a copy', () => {
    fc.assert(
      fc.property(policies, (policy) => {
        const { parse } = algorithmOf(policy);

        expect(parse({ ...policy })).toEqual(policy);
        expect(Object.isFrozen(parse({ ...policy }))).toBe(true);
      }),
      { numRuns: cases(100), seed },
    );
  });
});
