import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from '@jest/globals';
import { loadConfiguration } from '../../src/config/configuration-files.ts';
import { configurationSteps } from '../../src/config/read-configuration.ts';
import { makeLimit, problemsOf } from './reading.ts';

const MANY = 20_000;
const RULES = 2_000;
/** More than a file may have. */
const LEVELS = 300;
/** How long other work may have to wait, in milliseconds. */
const MAX_STEP_MS = 50;

/** A file with a rule for each user, of which one may be another. */
function large(count: number, other = ''): string {
  const rate = '{ unit: day, requests_per_unit: 5 }';
  const rules = Array.from({ length: count }, (_, i) => `  - { key: user, value: u${String(i)}, rate_limit: ${rate} }`);
  if (other !== '') rules[count / 2] = other;
  return `domain: shop\ndescriptors:\n${rules.join('\n')}\n`;
}

/** Each line stands for ten times the line before. */
function bomb(): string {
  const names = 'abcdefghijklmnopqrstuvwxyz'.split('');
  const lines = names.slice(1).map((name, i) => `${name}: &${name} [${`*${names[i] ?? ''}, `.repeat(10)}]`);
  return `a: &a [${'x, '.repeat(10)}]\n${lines.join('\n')}\n`;
}

/** The longest step in which a text is read: of two runs the shorter one, because other processes interrupt them. */
function longestStepMs(text: string): number {
  const [one, other] = [stepsOf(text), stepsOf(text)];
  expect(other).toHaveLength(one.length);
  return Math.max(...one.map((ms, i) => Math.min(ms, other[i] ?? Infinity)));
}

function stepsOf(text: string): readonly number[] {
  const steps = configurationSteps([{ path: 'limits.yaml', text }], { makeLimit });
  const taken: number[] = [];
  for (let isDone = false; !isDone;) {
    const startMs = performance.now();
    try {
      isDone = steps.next().done === true;
    } catch {
      isDone = true; // what it says is another test's
    }
    taken.push(performance.now() - startMs);
  }
  return taken;
}

describe('a large file', () => {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-large-'));
  afterAll(() => {
    rmSync(folder, { recursive: true });
  });

  it.each([
    ['of many rules', large(MANY)],
    ['with a bomb of aliases', bomb()],
    ['of deep lists', `domain: ${'['.repeat(LEVELS * 1000)}`],
    ['of deep maps', `${Array.from({ length: LEVELS }, (_, i) => `${' '.repeat(i)}a:`).join('\n')}\n`],
  ])('%s is read in steps that let other work have its turn', (_what, text) => {
    expect(longestStepMs(text)).toBeLessThan(MAX_STEP_MS);
  });

  it('is loaded beside other work', async () => {
    const path = join(folder, 'limits.yaml');
    writeFileSync(path, large(RULES));
    let turns = 0;
    const timer = setInterval(() => turns++, 0);
    const { domains } = await loadConfiguration(path, { makeLimit });
    clearInterval(timer);

    expect(domains.get('shop')).toBeDefined();
    expect(turns).toBeGreaterThan(10);
  });

  it.each([
    ['an unknown field', '  - { key: user, value: x, limt: 1 }', '1003:28: a descriptor has no field "limt"'],
    [
      'a duplicate',
      '  - { key: user, value: u1 }',
      '1003:5: the descriptor "shop.user_u1" has been defined at limits.yaml:4',
    ],
    ['a wrong indentation', ' - { key: user }', '1003:1: A block sequence'],
  ])('names line and column of %s', (_what, other, expected) => {
    expect(problemsOf(large(RULES, other))[0]).toContain(expected);
  });

  it.each([
    ['a bomb of aliases', bomb(), /^\d+:\d+: up to this alias, aliases repeat more than 100000 values/],
    ['deep lists', `domain: ${'['.repeat(LEVELS * 1000)}`, /^1:\d+: the file is nested more than 200 levels deep/],
  ])('names line and column of %s', (_what, text, expected) => {
    expect(problemsOf(text)[0]).toMatch(expected);
  });
});
