import { describe, expect, it } from '@jest/globals';
import type { Limit } from '@sluice/core/spi';
import { writeConfiguration } from '../../src/config/written.ts';
import { problemsOf, read } from './reading.ts';

const LIMIT = 'fixedWindow: { limit: 5, window: 1m }';
const file = (overrides: string): string => `limits:\n  login:\n    ${LIMIT}\n    overrides:\n${overrides}`;
const of = (limit: number, more: string): string =>
  `      - { fixedWindow: { limit: ${String(limit)}, window: 1m }, ${more} }\n`;

function limitOf(text: string): Limit {
  return read(text).limits.get('login')?.limit as Limit;
}

/** The numbers and the end of the key in force for each key. */
function countedFor(
  limit: Limit,
  ...keys: readonly string[]
): readonly (readonly [limit: number | undefined, suffix: string | undefined])[] {
  return keys.map((key) => {
    const [counted] = limit.read(key) as Awaited<ReturnType<Limit['read']>>;
    return [counted?.rule.limit, counted?.suffix];
  });
}

describe('overrides of a limit in a file', () => {
  it('are for a key, or for keys with a prefix, the longest first, and count in the key of the limit', () => {
    const limit = limitOf(
      file(
        of(20, "prefix: 'org-7:'") +
          of(30, "prefix: 'org-7:team:'") +
          of(40, "key: 'org-7:team:ann', by: eve, reason: a sale"),
      ),
    );

    const keys = ['org-7:team:ann', 'org-7:team:bob', 'org-7:bob', 'org-8:ann'];
    expect(countedFor(limit, ...keys)).toEqual([40, 30, 20, 5].map((units) => [units, '}:service:login']));
  });

  it('no longer count after until', () => {
    const limit = limitOf(
      file(
        of(20, "prefix: 'o'") +
          of(40, 'key: on, until: 2100-01-01') +
          of(50, "key: over, until: '2001-01-01T00:00:00Z'"),
      ),
    );

    expect(countedFor(limit, 'on', 'over').map(([units]) => units)).toEqual([40, 20]);
  });

  it('are lines of /rlconfig', () => {
    const configuration = read(file(of(20, "prefix: 'org-7:'") + of(40, 'key: ann, until: 2100-01-01')));
    expect(writeConfiguration(configuration)).toBe(
      `limits.login: fixedWindow 5 per 1m
limits.login for "org-7:*": fixedWindow 20 per 1m
limits.login for "ann": fixedWindow 40 per 1m, until 2100-01-01T00:00:00.000Z
`,
    );
  });

  it('may be an empty list', () => {
    expect(countedFor(limitOf(`limits:\n  login: { ${LIMIT}, overrides: [] }\n`), 'ann')).toEqual([
      [5, '}:service:login'],
    ]);
  });

  it.each([
    [of(1, 'by: eve'), '5:9: an override must have either key or prefix'],
    [of(1, 'key: a, prefix: b'), '5:9: an override must have either key or prefix'],
    [of(1, "key: ''"), '5:55: key must be a text that is not empty'],
    [of(1, `prefix: ${'x'.repeat(257)}`), 'prefix must be a text of 1 to 256 characters'],
    [of(1, 'key: a, until: soon'), 'until must be an instant such as 2027-01-01T00:00:00Z, got "soon"'],
    [of(1, 'key: a, at: soon'), 'at must be an instant'],
    [of(1, 'key: a, by: [eve]'), 'by must be a text, got a list'],
    [of(1, 'key: a, raeson: x'), 'an override of login has no field "raeson"; did you mean reason?'],
    [of(-1, 'key: a'), 'limit must be'],
    [of(1, 'key: a') + of(2, 'key: a'), '6:9: the key "a" has an override at limits.yaml:5; write it once'],
    ['      - ann\n', '5:9: an override must hold key: or prefix:, and a policy'],
    ['      - { key: ann }\n', 'an override of login must hold a policy such as'],
    [
      '      - { key: ann, tokenBucket: { capacity: 1, refill: 1, every: 1s } }\n',
      'must be a fixedWindow, as the limit is, got tokenBucket',
    ],
    ['      ann: 5\n', 'overrides must be a list of maps'],
  ])('are checked: %j', (overrides, problem) => {
    expect(problemsOf(file(overrides))).toEqual([expect.stringContaining(problem)]);
  });

  it('of a managed limit are kept where it is', () => {
    const text = `limits:\n  login:\n    managed: orders\n    overrides:\n${of(1, 'key: a')}`;

    expect(problemsOf(text)).toEqual([
      expect.stringContaining('4:5: the overrides of a managed limit are kept where it is'),
    ]);
  });

  it('of limits alone: nothing else has them', () => {
    const text = `domain: d\ndescriptors: [{ key: user, sluice: { ${LIMIT}, overrides: [] } }]\n`;

    expect(problemsOf(text)).toEqual([expect.stringContaining('sluice has no field "overrides"')]);
  });
});
