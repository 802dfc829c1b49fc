import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { loadConfiguration } from '../../src/config/configuration-files.ts';
import { configurationSteps } from '../../src/config/read-configuration.ts';
import { limitOf, problemsOf, read, rateOf } from './reading.ts';

const RULES = 1000;

/** A file with a rule for each user, where some lines are others. */
function large(more: Readonly<Record<number, string>> = {}, head = ''): string {
  const rules = Array.from(
    { length: RULES },
    (_, i) =>
      more[i] ?? `  - { key: user, value: u${String(i)}, rate_limit: { unit: day, requests_per_unit: ${String(i)} } }`,
  );
  const limits = Array.from(
    { length: RULES },
    (_, i) => `  limit-${String(i)}: { fixedWindow: { limit: ${String(i + 1)}, window: 1m } }`,
  );
  return `${head}domain: shop\ndescriptors:\n${rules.join('\n')}\nlimits:\n${limits.join('\n')}\n`;
}

describe('a large file', () => {
  it('says what it says in one piece', () => {
    // Lists and maps in brackets are not divided.
    const [domain = '', ...lines] = large().trimEnd().split('\n');
    const half = lines.indexOf('limits:');
    const flow = [
      ...[domain, 'descriptors: [', ...lines.slice(1, half).map((line) => `${line.replace('  - ', '  ')},`), ']'],
      ...['limits: {', ...lines.slice(half + 1).map((line) => `${line},`), '}'],
    ].join('\n');

    expect(read(large()).written().split('\n')).toHaveLength(2 * RULES + 1);
    expect(read(large()).written()).toBe(read(flow).written());
  });

  it('is read in many steps, between which other work has its turn', async () => {
    const steps = configurationSteps([{ path: 'limits.yaml', text: large() }], { limitOf });
    let count = 0;
    while (steps.next().done !== true) count++;
    expect(count).toBeGreaterThan(2 * RULES);

    const folder = mkdtempSync(join(tmpdir(), 'sluice-large-'));
    const path = join(folder, 'limits.yaml');
    writeFileSync(path, large());
    let turns = 0;
    const timer = setInterval(() => turns++, 0);
    const loaded = await loadConfiguration(path, { limitOf });
    clearInterval(timer);
    rmSync(folder, { recursive: true });

    expect(loaded.limits.size).toBe(RULES);
    expect(turns).toBeGreaterThan(1);
  });

  it.each([
    ['an unknown field', { 700: '  - { key: user, value: x, limt: 1 }' }, '703:28: a descriptor has no field "limt"'],
    [
      'a duplicate',
      { 700: '  - { key: user, value: u1 }' },
      '703:5: the descriptor "shop.user_u1" has been defined at limits.yaml:4',
    ],
    ['a wrong indentation', { 700: ' - { key: user }' }, '703:1: A block sequence'],
    ['a value that is no YAML', { 700: '  - { key: user, value: "x }' }, ':'],
  ])('names the place of %s in its middle', (_what, more, expected) => {
    const [first] = problemsOf(large(more));

    expect(first).toContain(expected);
  });

  it('has aliases of what is far before, and none that stands for what holds it', () => {
    const rate = 'rate_limit: &rate { unit: hour, requests_per_unit: 7 }';
    const alias = '  - { key: user, value: x, rate_limit: *rate }';
    const configuration = read(large({ 0: `  - { key: user, value: w, ${rate} }`, 900: alias }));

    expect(rateOf(configuration, 'shop', 'user=x')).toBe('7/hour');
    const own = large({ 900: '  - { key: user, value: x, descriptors: *all }' }).replace(
      'descriptors:\n',
      'descriptors: &all\n',
    );
    expect(problemsOf(own)).toEqual(['903:41: the alias all stands for a value that holds it']);
  });

  it('may follow other documents and a directive', () => {
    const small = 'domain: other\ndescriptors: [{ key: k, rate_limit: { unit: day, requests_per_unit: 1 } }]\n---\n';

    expect([...read(large({}, small)).domains.keys()]).toEqual(['other', 'shop']);
    expect([...read(`%YAML 1.1\n---\n${large()}---\n${small}`).domains.keys()]).toEqual(['shop', 'other']);
  });
});
