import { mostBeyondRefill, mostPerInterval, mostPerWindow, type Admission } from '@sluice/testkit';
import { shareOfMember } from '../../../src/split/shares/largest-remainder.ts';
import type { Members } from '../../../src/split/membership/membership.ts';
import { KINDS, type Instance, type Kind, type RegistryWorld, type Since } from './polled-world.ts';

/** More than a law allows. */
export interface Excess {
  readonly law: string;
  readonly place: string;
  readonly fromMs: number;
  readonly allowed: number;
  readonly most: number;
}

/** Clocks of processes are read in whole milliseconds. */
const ROUNDING_MS = 10;

/** Every instance alone: in each window at most its smallest share by the answers that counted, none without answers. */
export function excessOfInstances(world: RegistryWorld): readonly Excess[] {
  const { windowMs, graceMs, ttlMs, units } = world.plan;
  return world.all.flatMap((instance) =>
    placesOf(instance, 'fixed').flatMap(([place, admissions]) => {
      const late = admissions.find(({ atMs }) => !instance.answers.some(({ askedAtMs }) => askedAtMs > atMs - ttlMs));
      const unanswered = {
        law: 'without an answer',
        place,
        fromMs: late?.atMs ?? 0,
        allowed: late?.units ?? 0,
        most: 0,
      };
      const windows = [...byWindow(admissions, windowMs)].flatMap(([fromMs, allowed]) => {
        const shares = inForce(instance.answers, fromMs - graceMs + ROUNDING_MS, fromMs).map((members) =>
          shareOf(units, members, instance.id),
        );
        const most = shares.length === 0 ? 0 : Math.min(...shares);
        return allowed > most ? [{ law: 'an instance', place, fromMs, allowed, most }] : [];
      });
      return late === undefined ? windows : [unanswered, ...windows];
    }),
  );
}

/** All together: the limit in each window before which the registry said the same to all for `ttlMs`, within the grace time. */
export function excessAfterCalm(world: RegistryWorld): readonly Excess[] {
  const { windowMs, units } = world.plan;
  return placesOfAll(world, 'fixed').flatMap(([place, admissions]) =>
    [...byWindow(admissions, windowMs)].flatMap(([fromMs, allowed]) =>
      allowed > units && isAfterCalm(world, fromMs) ? [{ law: 'after calm', place, fromMs, allowed, most: units }] : [],
    ),
  );
}

/** All together, at any time. */
export function excessAtAnyTime(world: RegistryWorld): readonly Excess[] {
  const { windowMs, units } = world.plan;
  const most: Readonly<Record<Kind, (admissions: readonly Admission[]) => number>> = {
    fixed: (admissions) => mostPerWindow(admissions, windowMs),
    sliding: (admissions) => mostPerInterval(admissions, windowMs),
    // Buckets count in whole milliseconds.
    bucket: (admissions) => Math.floor(mostBeyondRefill(admissions, units / windowMs) - units / windowMs),
  };
  return KINDS.flatMap((kind) =>
    placesOfAll(world, kind).flatMap(([place, admissions]) => {
      const allowed = most[kind](admissions);
      return allowed > units ? [{ law: 'at any time', place, fromMs: 0, allowed, most: units }] : [];
    }),
  );
}

/** Whether for some instant of the grace time nothing had changed, and all answers were true, for `ttlMs`. */
function isAfterCalm({ plan, truth, moods }: RegistryWorld, fromMs: number): boolean {
  const { ttlMs, graceMs } = plan;
  const [leastMs, mostMs] = [fromMs - graceMs + ROUNDING_MS, fromMs - ROUNDING_MS];
  const troubles = [...truth.map((each) => each.fromMs), ...liesOf(moods)].sort((a, b) => a - b);
  const begins = [leastMs - ttlMs, ...troubles.filter((atMs) => atMs >= leastMs - ttlMs)];
  return begins.some((beginMs) => {
    const endMs = Math.max(beginMs + ttlMs + ROUNDING_MS, leastMs);
    return endMs <= mostMs && !troubles.some((atMs) => atMs > endMs - ttlMs - ROUNDING_MS && atMs <= endMs);
  });
}

/** The instants at which lies began and ended, and many between: a lie is a change all the time. */
function liesOf(moods: RegistryWorld['moods']): readonly number[] {
  return moods.flatMap(({ fromMs, value }, i) => {
    if (value !== 'lying') return [];
    const untilMs = moods[i + 1]?.fromMs ?? Infinity;
    const steps = Math.min(Math.ceil((untilMs - fromMs) / ROUNDING_MS), 10_000);
    return Array.from({ length: steps + 1 }, (_, step) => Math.min(fromMs + step * ROUNDING_MS, untilMs));
  });
}

/** What held at some instant between two. */
function inForce(list: readonly Since<Members>[], fromMs: number, untilMs: number): readonly Members[] {
  return list
    .filter(({ fromMs: beganMs }, i) => beganMs <= untilMs && (list[i + 1]?.fromMs ?? Infinity) > fromMs)
    .map(({ value }) => value);
}

function shareOf(units: number, members: Members, id: string): number {
  return id in members ? shareOfMember(units, Object.entries(members), id) : 0;
}

function byWindow(admissions: readonly Admission[], windowMs: number): ReadonlyMap<number, number> {
  const windows = new Map<number, number>();
  for (const { atMs, units } of admissions) {
    const fromMs = Math.floor(atMs / windowMs) * windowMs;
    windows.set(fromMs, (windows.get(fromMs) ?? 0) + units);
  }
  return windows;
}

function placesOf({ admissions }: Instance, kind: Kind): readonly (readonly [string, readonly Admission[]])[] {
  return [...admissions].filter(([place]) => place.startsWith(kind));
}

function placesOfAll(world: RegistryWorld, kind: Kind): readonly (readonly [string, readonly Admission[]])[] {
  const together = new Map<string, Admission[]>();
  for (const instance of world.all) {
    for (const [place, admissions] of placesOf(instance, kind)) {
      together.set(place, [...(together.get(place) ?? []), ...admissions]);
    }
  }
  return [...together].map(([place, admissions]) => [place, admissions.sort((a, b) => a.atMs - b.atMs)]);
}
