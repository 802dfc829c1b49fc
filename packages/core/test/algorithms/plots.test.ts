import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from '@jest/globals';
import type { LeakyBucketPolicy, Policy } from '@sluice/core';
import { algorithms } from '@sluice/core/spi';
import { referenceOf } from '../laws/models/index.ts';

interface Request {
  readonly atMs: number;
  readonly units: number;
  readonly allowed: boolean;
  readonly startMs: number;
  readonly endMs: number;
}

interface Replayed {
  readonly specimen: { file: string; promise: number; paced?: boolean; running?: boolean };
  readonly policy: Policy;
  readonly requests: readonly Request[];
}

const WINDOW_MS = 20_000;
const script = fileURLToPath(new URL('../../../../scripts/plots/policies.mjs', import.meta.url));
const run = spawnSync(process.execPath, [script, '--units'], { encoding: 'utf8', maxBuffer: 2 ** 26 });
const replayed = JSON.parse(run.stdout) as readonly Replayed[];
const windowed = replayed.filter(({ specimen }) => specimen.running !== true);
const decided = windowed.filter(({ specimen }) => specimen.paced !== true);
const paced = windowed.filter(({ specimen }) => specimen.paced === true);

const allowed = ({ requests }: Replayed): readonly Request[] => requests.filter(({ allowed }) => allowed);
const instantOf = ({ specimen }: Replayed, { atMs, startMs }: Request): number =>
  specimen.paced === true ? startMs : atMs;
const unitsOf = (requests: readonly Request[]): number => requests.reduce((sum, { units }) => sum + units, 0);

/**
 * The most units in one interval of the window's length, or running at one instant: counted for each allowed request.
 */
function mostOf(one: Replayed): number {
  const all = allowed(one);
  return Math.max(
    ...all.map((last) => {
      const atMs = instantOf(one, last);
      const counts = (other: Request): boolean =>
        one.specimen.running === true
          ? other.startMs <= atMs && other.endMs > atMs
          : instantOf(one, other) <= atMs && instantOf(one, other) > atMs - WINDOW_MS;
      return unitsOf(all.filter(counts));
    }),
  );
}

/** What a committed picture shows: its coordinates turned back into units by the numbers at its axes. */
function picture({ specimen }: Replayed): {
  most: number;
  promise: number;
  columns: (name: string) => readonly number[];
  text: string;
} {
  const path = fileURLToPath(new URL(`../../../../docs/plots/policy-${specimen.file}.svg`, import.meta.url));
  const text = readFileSync(path, 'utf8');
  const [upper, lower] = text.split('<svg y=').slice(1) as [string, string];
  return {
    text,
    most: Math.max(...numbersIn(marks(lower, 'class="most '), /[ML][\d.]+,([\d.]+)/g).map(unitScale(lower))),
    promise: Math.max(...numbersIn(marks(lower, 'class="promise '), / y1="([\d.]+)"/g).map(unitScale(lower))),
    columns: (name) => numbersIn(marks(upper, `class="${name} `), / y="([\d.]+)"/g).map(unitScale(upper)),
  };
}

/** What the group with this attribute holds. */
function marks(panel: string, attribute: string): string {
  return new RegExp(`<g [^>]*${attribute}[^>]*>(.*?)</g>`, 's').exec(panel)?.[1] ?? '';
}

function numbersIn(text: string, pattern: RegExp): readonly number[] {
  return [...text.matchAll(pattern)].map(([, number]) => Number(number));
}

/** From a vertical coordinate to units, by the lowest and the highest number at the axis. */
function unitScale(panel: string): (y: number) => number {
  const ticks = marks(panel, 'aria-label="y-axis tick label"');
  const ys = numbersIn(ticks, /translate\([\d.]+,([\d.]+)\)/g);
  const units = numbersIn(ticks, />(\d+)</g);
  const [zeroY, topY] = [ys[0], ys.at(-1)] as [number, number];
  const [zero, top] = [units[0], units.at(-1)] as [number, number];
  return (y) => zero + ((zeroY - y) / (zeroY - topY)) * (top - zero);
}

const named = (list: readonly Replayed[]): [string, Replayed][] => list.map((one) => [one.specimen.file, one]);

describe('the traffic of the pictures', () => {
  it('is drawn for every kind of policy that there is', () => {
    expect(run.stderr).toBe('');
    expect(new Set(replayed.map(({ policy }) => policy.algorithm))).toEqual(
      new Set(algorithms.map(({ name }) => name)),
    );
  });

  it.each(named(windowed))('never sees more allowed than the model of %s allows, in any interval', (_file, one) => {
    const { most } = referenceOf(one.policy);
    const all = allowed(one);
    const overruns = all.flatMap((first, i) => {
      let units = 0;
      return all.slice(i).filter((last) => {
        units += last.units;
        return BigInt(units) > most(one.policy, BigInt(last.atMs - first.atMs), false);
      });
    });

    expect(overruns).toEqual([]);
  });

  it.each(named(decided))('is held to the promise of the model of %s', (_file, { policy, specimen }) => {
    const most = Number(referenceOf(policy).most(policy, BigInt(WINDOW_MS - 1), false));

    // A bucket's last unit of the interval would come in the millisecond at its end.
    expect([most, most + 1]).toContain(specimen.promise);
  });

  it.each(named(paced))('starts no faster than the pace of %s, nothing later than it may', (_file, one) => {
    const { limit, windowMs, maxDelayMs } = one.policy as LeakyBucketPolicy;
    const all = allowed(one);
    const starts = all.map(({ startMs }) => startMs);

    expect(starts.filter((startMs, i) => i > 0 && startMs - (starts[i - 1] as number) < windowMs / limit)).toEqual([]);
    expect(all.filter(({ atMs, startMs }) => startMs < atMs || startMs > atMs + maxDelayMs)).toEqual([]);
  });

  it.each(named(replayed))('is denied now and then by %s, and comes near its limit', (_file, one) => {
    expect(one.requests.some(({ allowed }) => !allowed)).toBe(true);
    expect(mostOf(one)).toBeLessThanOrEqual(one.specimen.promise);
    expect(mostOf(one)).toBeGreaterThan(one.specimen.promise / 2);
  });
});

describe('the picture of', () => {
  it.each(named(replayed))('%s shows what was counted, and the promise above it', (_file, one) => {
    const shown = picture(one);

    expect(shown.promise).toBeCloseTo(one.specimen.promise, 0);
    expect(shown.most).toBeCloseTo(mostOf(one), 0);
    expect(shown.text).toMatch(new RegExp(`The most (in any 20 seconds|at any instant) were ${String(mostOf(one))};`));
  });

  it.each(named(replayed))('%s shows every unit that was offered and allowed', (_file, one) => {
    const total = (heights: readonly number[]): number =>
      heights.reduce((sum, height) => {
        expect(height).toBeCloseTo(Math.round(height), 1);
        return sum + Math.round(height);
      }, 0);
    const { columns } = picture(one);

    expect(total(columns('offered'))).toBe(unitsOf(one.requests));
    expect(total(columns('allowed'))).toBe(unitsOf(allowed(one)));
  });
});
