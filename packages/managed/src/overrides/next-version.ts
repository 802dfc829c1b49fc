import { endVersionOf, type Override } from './override-record.ts';
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
  /** Of the record that is replaced, which another process may have written a moment ago; 0 for none. */
  readonly storedVersion: number;
  /** By the clock of the source. */
  readonly nowMs: number;
}

/**
 * The version of a new override, later than all that its subjects have had. A key that has had none takes the version of
 * another with the same numbers, so that all such keys share a limit.
 */
export function nextVersion({
  target,
  numbers,
  baseVersion,
  overrides = NONE,
  storedVersion,
  nowMs,
}: VersionContext): number {
  if (numbers !== undefined && target.kind === 'key') {
    const floor = Math.max(
      baseVersion,
      storedVersion,
      ...overrides.all(target.text).map((override) => latestOf(override, nowMs)),
    );
    const version = overrides.versionOf(numbers);
    if (version !== undefined && version > floor) return version;
  }
  return Math.max(baseVersion + 1, storedVersion + 1, overrides.latestVersion + 1, Math.floor(nowMs), Date.now());
}

/** The latest version that an override has brought about. */
function latestOf(override: Override, nowMs: number): number {
  return override.untilMs <= nowMs ? endVersionOf(override) : override.version;
}
