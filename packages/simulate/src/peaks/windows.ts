import { writtenDuration } from '@sluice/old-core/spi';
import type { Candidate } from '../candidates/candidate.ts';
import type { KeySpec } from '../keys/key-spec.ts';

/** A window whose peaks are kept. It begins with a request, as those of `fixedWindow` do. */
export interface PeakWindow {
  readonly text: string;
  readonly ms: number;
}

const USUAL: readonly PeakWindow[] = [
  { text: '1s', ms: 1000 },
  { text: '1m', ms: 60_000 },
  { text: '1h', ms: 3_600_000 },
];
/** Further windows, each of which takes time with every request. */
const MOST_OWN = 5;

/**
 * The windows that a report is about, the shortest first: the usual ones, and those of candidates that count clients.
 */
export function windowsFor(candidates: readonly Candidate[], clients: KeySpec): readonly PeakWindow[] {
  const lengths = candidates
    .flatMap(({ limits }) => limits)
    .filter(({ key }) => key.text === clients.text)
    .flatMap(({ policies }) => policies.map(({ policy }) => windowOf(policy)))
    .filter((ms) => ms !== undefined && !USUAL.some((usual) => usual.ms === ms));
  const own = [...new Set(lengths)].slice(0, MOST_OWN).map((ms = 0) => ({ text: writtenDuration(ms), ms }));
  return [...USUAL, ...own].sort((one, other) => one.ms - other.ms);
}

/** The window of a policy that has one. */
function windowOf(policy: object): number | undefined {
  return 'windowMs' in policy && typeof policy.windowMs === 'number' ? policy.windowMs : undefined;
}
