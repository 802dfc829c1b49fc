import assert from 'node:assert/strict';

/**
 * Asserts that the value has the expected members, in every depth. It may have others; lists are as long as expected.
 */
export function matches(value: unknown, expected: object): void {
  assert.deepEqual(part(value, expected), expected);
}

function part(value: unknown, expected: unknown): unknown {
  if (typeof value !== 'object' || value === null || typeof expected !== 'object' || expected === null) return value;
  if (Array.isArray(expected)) return Array.isArray(value) ? value.map((item, i) => part(item, expected[i])) : value;
  return Object.fromEntries(
    Object.entries(expected).map(([name, wanted]) => [name, part((value as Record<string, unknown>)[name], wanted)]),
  );
}
