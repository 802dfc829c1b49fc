import { shown } from '@sluice/old-core/spi';
import { FrameError } from './frames.ts';

/** @throws FrameError for anything but an array of so many items. */
export function listOf(given: unknown, what: string, least: number, most: number = Infinity): readonly unknown[] {
  if (Array.isArray(given) && given.length >= least && given.length <= most) return given as readonly unknown[];
  const many =
    most === Infinity
      ? `at least ${String(least)}`
      : least === most
        ? String(least)
        : `${String(least)} to ${String(most)}`;
  throw new FrameError(`${what} must be an array of ${many}, got ${shown(given)}`);
}

/** @throws FrameError for anything but a whole number in this range. */
export function wholeNumber(given: unknown, what: string, least = 0, most: number = Number.MAX_SAFE_INTEGER): number {
  if (Number.isSafeInteger(given) && (given as number) >= least && (given as number) <= most) return given as number;
  throw new FrameError(`${what} must be a whole number from ${String(least)} to ${String(most)}, got ${shown(given)}`);
}

/** As {@link wholeNumber}; undefined for null, and for what is left out. */
export function optionalNumber(given: unknown, what: string, least = 0, most?: number): number | undefined {
  return given === null || given === undefined ? undefined : wholeNumber(given, what, least, most);
}

/** A flag, 0 or 1; false for what is left out. */
export function flag(given: unknown, what: string): boolean {
  return wholeNumber(given ?? 0, what, 0, 1) === 1;
}
