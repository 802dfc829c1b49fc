import { describe, expect, it } from '@jest/globals';
import { ByTarget, type Target } from '@sluice/old-managed';
import { seeded, testSeed, type Random } from '@sluice/testkit';

const PARTS = [
  'ann',
  'bob',
  'org-7:',
  'org-8:',
  'a',
  'b',
  '日本',
  '😀',
  '\ud800',
  '/',
  '#x',
  'a-long-part-of-a-key',
] as const;

function textOf(random: Random): string {
  return Array.from({ length: random.integer(1, 6) }, () => random.pick<string>(PARTS)).join('');
}

/** The values that concern a subject, found by looking at all. */
function concerning(known: ReadonlyMap<string, readonly [Target, number]>, subject: string): readonly number[] {
  return [...known.values()]
    .filter(([{ kind, text }]) => (kind === 'key' ? text === subject : isPrefix(text, subject)))
    .toSorted(([one], [other]) => rank(other) - rank(one))
    .map(([, value]) => value);
}

function isPrefix(text: string, subject: string): boolean {
  return !subject.startsWith('#') && subject.startsWith(text);
}

function rank({ kind, text }: Target): number {
  return kind === 'key' ? Infinity : text.length;
}

describe('values by targets', () => {
  it('are found as by looking at all of them, while their number grows', () => {
    const random = seeded(testSeed(88));
    const values = new ByTarget<number>();
    const known = new Map<string, readonly [Target, number]>();
    for (let i = 0; i < 3000; i++) {
      const target: Target = { kind: random.percent(80) ? 'key' : 'prefix', text: textOf(random) };
      values.set(target, i);
      known.set(`${target.kind} ${target.text}`, [target, i]);
      if (i % 25 > 0) continue;
      for (const subject of [target.text, textOf(random), `${target.text}x`]) {
        const expected = concerning(known, subject);
        expect([values.first(subject), values.all(subject)]).toEqual([expected[0], expected]);
        const found = values.concerning({ kind: 'key', text: subject });
        expect(found.map(([, value]) => value)).toEqual(expected);
      }
    }

    expect(values.size).toBe(known.size);
    expect([...values.entries()]).toHaveLength(known.size);
    for (const [target, value] of known.values()) expect(values.get(target)).toBe(value);
  });

  it('of a hundred thousand keys are found, and no other key has one', () => {
    const values = new ByTarget<number>();
    for (let i = 0; i < 100_000; i++) values.set({ kind: 'key', text: `customer-${String(i)}` }, i);

    const missed = Array.from({ length: 100_000 }, (_, i) => i).filter(
      (i) => values.first(`customer-${String(i)}`) !== i || values.first(`visitor-${String(i)}`) !== undefined,
    );

    expect(missed).toEqual([]);
  });

  it('of keys that differ in one character are found, wherever that is, and however many are alike', () => {
    const values = new ByTarget<string>();
    const places = [0, 1, 15, 16, 30, 42, 43, 44, 45, 54, 58, 59];
    const keys = places.flatMap((place) =>
      Array.from(
        { length: 300 },
        (_, i) => `${'a'.repeat(place)}${String.fromCharCode(0x100 + i)}${'a'.repeat(59 - place)}`,
      ),
    );
    for (const key of keys) values.set({ kind: 'key', text: key }, key);

    expect(keys.filter((key) => values.first(key) !== key)).toEqual([]);
    expect(keys.filter((key) => values.first(key.toUpperCase()) !== undefined)).toEqual([]);
    expect(values.size).toBe(keys.length);
  });

  it('are those that were set last, and their number stays', () => {
    const values = new ByTarget<number>();
    for (let round = 0; round < 3; round++) {
      for (let i = 0; i < 500; i++) values.set({ kind: 'key', text: `key-${String(i)}` }, 1000 * round + i);
    }

    expect(Array.from({ length: 500 }, (_, i) => values.first(`key-${String(i)}`))).toEqual(
      Array.from({ length: 500 }, (_, i) => 2000 + i),
    );
    expect(values.size).toBe(500);
  });
});
