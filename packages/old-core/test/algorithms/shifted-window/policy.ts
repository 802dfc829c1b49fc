import type { Factory, PolicyBase } from '../../../src/algorithms/algorithm.ts';
import { LIMIT, WINDOW, perWindow } from '../../../src/algorithms/written.ts';
import { parseDuration, writtenDuration, type Duration } from '../../../src/values/duration.ts';
import { parseName } from '../../../src/values/name.ts';
import { parseUnits } from '../../../src/values/numbers.ts';

/**
 * `limit` units per window. Windows begin `shiftMs` after whole multiples of `windowMs` since 1970: days that begin at
 * six.
 */
export interface ShiftedWindowPolicy extends PolicyBase {
  readonly algorithm: 'shiftedWindow';
  readonly limit: number;
  readonly windowMs: number;
  readonly shiftMs: number;
}

export interface ShiftedWindowOptions {
  limit: number;
  window: Duration;
  shift: Duration;
  name?: string;
}

export const OPTIONS: Factory['options'] = {
  limit: LIMIT,
  window: WINDOW,
  shift: { placeholder: 'duration', description: 'how long after midnight of 1970 the first window begins' },
};

export function parseShiftedWindow({ name, limit, windowMs, shiftMs }: ShiftedWindowPolicy): ShiftedWindowPolicy {
  return Object.freeze({
    algorithm: 'shiftedWindow',
    ...(name === undefined ? {} : { name: parseName(name, 'name') }),
    limit: parseUnits(limit, 'limit'),
    windowMs: parseDuration(windowMs, 'windowMs'),
    shiftMs: parseDuration(shiftMs, 'shiftMs', undefined, 0),
  });
}

export function writtenShiftedWindow(policy: ShiftedWindowPolicy): string {
  return `shiftedWindow ${perWindow(policy)}, shift ${writtenDuration(policy.shiftMs)}`;
}
