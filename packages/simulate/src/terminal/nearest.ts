import { nearest } from '@sluice/core/inspect';

/** Suggests a name for one that does not exist: the nearest of those that do or, when none is near, all of them. */
export function insteadOf(name: string, known: readonly string[]): string {
  const meant = nearest(name, known);
  return meant === undefined ? `known: ${known.join(', ')}` : `did you mean ${meant}?`;
}
