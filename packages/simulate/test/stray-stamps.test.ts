import { describe, expect, it } from '@jest/globals';
import { combinedLog, first, randomNumbers, START_MS, useSimulate } from './simulated.ts';

const simulated = useSimulate();
const [DAY_MS, YEAR_MS] = [86_400_000, 365 * 86_400_000];
const POLICY = ['--policy', 'fixedWindow --limit 10 --window 1m'];
/** Ten minutes of a client that sends every ten seconds: no minute has more than its limit. */
const calm = Array.from({ length: 60 }, (_, i) => START_MS + i * 10_000);
const logOf = (instants: readonly number[], address?: string): string =>
  simulated.file(combinedLog(instants.map((atMs) => ({ atMs, ...(address === undefined ? undefined : { address }) }))));
const withStray = (at: number, ...strays: readonly number[]): readonly number[] => [
  ...calm.slice(0, at),
  ...strays,
  ...calm.slice(at),
];

describe('a stamp far in the future', () => {
  it('is told without what the name of its log would do to a terminal', async () => {
    const instants = withStray(30, START_MS + YEAR_MS);
    const log = simulated.file(combinedLog(instants.map((atMs) => ({ atMs }))), 'log-\u001b[31m');

    const { out } = await simulated.run(log);

    expect(out).toContain('[31m: line 31 is stamped');
    expect(out).not.toContain('\u001b');
  });

  it.each([
    ['in the middle', withStray(30, START_MS + 10 * YEAR_MS)],
    ['on the first line', withStray(0, START_MS + 10 * YEAR_MS)],
    ['two days ahead', withStray(30, START_MS + 2 * DAY_MS)],
    [
      'on some lines, of different years',
      withStray(30, START_MS + YEAR_MS, START_MS + 9 * YEAR_MS, START_MS + YEAR_MS),
    ],
    ['shortly before the end', withStray(58, START_MS + YEAR_MS)],
  ])('%s pulls no other line along: it counts at the instant that the log had reached', async (_where, instants) => {
    const log = logOf(instants);

    const report = await simulated.report(log, ...POLICY);
    const { out } = await simulated.run(log, ...POLICY);

    const strays = instants.length - calm.length;
    const stray = instants.findIndex((atMs) => atMs > START_MS + DAY_MS) + 1;
    expect(report).toMatchObject({ requests: instants.length, late: 0, fromMs: START_MS, toMs: START_MS + 590_000 });
    expect(report.logs[0]).toMatchObject({ stray: strays, firstStray: stray });
    // As without them, but for the requests themselves.
    expect(first(report).denied).toBeLessThanOrEqual(strays);
    expect(out).toContain(
      strays === 1
        ? `note: ${log}: line ${String(stray)} is stamped more than a day after the lines that follow it, and counts at the instant that the log had reached`
        : `note: ${log}: ${String(strays)} lines are stamped more than a day after the lines that follow them, the first of them line ${String(stray)}, and count at the instant that the log had reached`,
    );
  });

  it('in one of several logs holds up none of them', async () => {
    const report = await simulated.report(
      logOf(withStray(20, START_MS + 10 * YEAR_MS), '203.0.113.7'),
      logOf(calm, '198.51.100.2'),
      ...POLICY,
    );

    expect(report).toMatchObject({ requests: 121, late: 0, toMs: START_MS + 590_000 });
    expect(first(report).denied).toBe(0);
  });

  it('is believed where the log stays there, also after days without a line', async () => {
    const random = randomNumbers(3);
    const rare: number[] = [];
    for (let atMs = START_MS; rare.length < 200; atMs += Math.floor(random() * 5 * 86_400) * 1000) rare.push(atMs);
    const later = [...calm, ...calm.map((atMs) => atMs + 30 * DAY_MS), START_MS + 90 * DAY_MS];

    const [seldom, resumed] = [await simulated.report(logOf(rare)), await simulated.report(logOf(later))];

    expect(seldom).toMatchObject({ late: 0, toMs: rare.at(-1), logs: [{ stray: 0 }] });
    expect(resumed).toMatchObject({ late: 0, toMs: START_MS + 90 * DAY_MS, logs: [{ stray: 0, firstStray: null }] });
  });

  it('after days without a line is told from those that stay', async () => {
    const later = calm.map((atMs) => atMs + 30 * DAY_MS);
    const instants = [...calm, START_MS + YEAR_MS, ...later];

    const report = await simulated.report(logOf(instants), ...POLICY);

    expect(report).toMatchObject({ late: 0, toMs: later.at(-1), logs: [{ stray: 1, firstStray: 61 }] });
    expect(first(report).denied).toBe(0);
  });

  it('of very many lines is believed, and what then comes earlier is counted as late', async () => {
    const ahead = Array.from({ length: 200 }, (_, i) => START_MS + YEAR_MS + i * 1000);

    const report = await simulated.report(logOf(withStray(30, ...ahead)));

    expect(report).toMatchObject({ late: 30, logs: [{ stray: 0 }] });
  });
});

describe('a stamp of the past', () => {
  it('makes no stray of the lines before it', async () => {
    const report = await simulated.report(logOf(withStray(30, 1000)), ...POLICY);

    expect(report).toMatchObject({ late: 1, toMs: START_MS + 590_000, logs: [{ stray: 0 }] });
  });
});
