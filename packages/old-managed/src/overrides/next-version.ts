import { endVersionOf, type EarlierOverride, type Override } from './override-record.ts';
import { PolicyOverrides } from './policy-overrides.ts';
import type { Target } from './target.ts';

const NONE = new PolicyOverrides();

/** What the version of an override follows. */
export interface VersionContext {
  readonly target: Target;
  /** The text of the numbers, by {@link numbersOf}; undefined for a removal. */
  readonly numbers: string | undefined;
  /** Of the policy. */
  readonly baseVersion: number;
  readonly overrides: PolicyOverrides | undefined;
  /** The record that is replaced, which another process may have written a moment ago. */
  readonly stored: EarlierOverride | undefined;
  /** By the clock of the source. */
  readonly nowMs: number;
}

/**
 * The version of a new override, later than all that its subjects have had. A key that has had none takes the version of
 * another with the same numbers, so that all such keys share a limit.
 */
export function nextVersion(context: VersionContext): number {
  const { target, numbers, baseVersion, overrides = NONE, stored, nowMs } = context;
  const earlier = stored === undefined ? overrides.all(target.text) : [...overrides.all(target.text), stored];
  const floor = Math.max(baseVersion, ...earlier.map((override) => latestOf(override, nowMs)));
  if (numbers !== undefined && target.kind === 'key') {
    const version = overrides.versionOf(numbers);
    if (version !== undefined && version > floor) return version;
  }
  return Math.max(floor + 1, overrides.latestVersionAt(nowMs) + 1, Math.floor(nowMs), Date.now());
}

/** The latest version that an override has brought about. */
function latestOf(override: Override | EarlierOverride, nowMs: number): number {
  const { version, untilMs = Infinity } = override;
  return untilMs <= nowMs ? endVersionOf(override) : version;
}
