import { flag, invalidOption, optional, valueThat, type Option, type OptionTable } from '@sluice/old-core/spi';
import { parseTarget, type OverrideTarget, type Target } from './target.ts';

/** Who changes an override, and why: kept with it. */
export interface AuditOptions {
  /** Who changes it, 1 to 256 characters. */
  readonly by?: string | undefined;
  /** Why, 1 to 1000 characters. */
  readonly reason?: string | undefined;
}

export interface OverrideOptions extends AuditOptions {
  /** When it ends, by the clock of the source: a date, or milliseconds since 1970. Default: it does not. */
  readonly until?: Date | number | undefined;
  /** Returns what would change, and changes nothing. Default false. */
  readonly dryRun?: boolean | undefined;
}

/** Which overrides `overrides` returns. */
export interface ListOverridesOptions {
  /** Whether those are returned too that were removed or have ended. Default false. */
  readonly ended?: boolean | undefined;
  /** How many are returned at most, 1 to 1 000 000. Default: 1 000 000. */
  readonly limit?: number | undefined;
  /** Only those whose key or prefix begins with this text. Default `''`, as all do. */
  readonly startsWith?: string | undefined;
  /**
   * Only the override of this key or prefix, and those of prefixes that it begins with: the first one counts, and after
   * it the next. Default: all.
   */
  readonly concerning?: OverrideTarget | undefined;
}

function text(longest: number): Option<string | undefined> {
  const isText = (given: unknown): boolean => typeof given === 'string' && given !== '' && given.length <= longest;
  return optional(valueThat(isText, `a text of 1 to ${String(longest)} characters`));
}

interface AuditSettings {
  readonly by: string | undefined;
  readonly reason: string | undefined;
}

export const AUDIT: OptionTable<AuditSettings> = { by: text(256), reason: text(1000) };

interface OverrideSettings extends AuditSettings {
  /** Milliseconds since 1970. */
  readonly until: number | undefined;
  readonly dryRun: boolean;
}

export const OVERRIDE: OptionTable<OverrideSettings> = {
  ...AUDIT,
  until: (given) => {
    if (given === undefined) return undefined;
    const untilMs = given instanceof Date ? given.getTime() : given;
    if (Number.isSafeInteger(untilMs) && Number(untilMs) > 0) return Number(untilMs);
    throw invalidOption('until', 'a date, or milliseconds since 1970', given);
  },
  dryRun: flag(false),
};

const MOST_LISTED = 1_000_000;

/** What is listed. */
export interface ListSettings {
  readonly ended: boolean;
  readonly limit: number;
  readonly startsWith: string;
  readonly concerning: Target | undefined;
}

export const LIST_OVERRIDES: OptionTable<ListSettings> = {
  ended: flag(false),
  limit: valueThat(
    (given) => Number.isInteger(given) && Number(given) >= 1 && Number(given) <= MOST_LISTED,
    `a whole number from 1 to ${String(MOST_LISTED)}`,
    MOST_LISTED,
  ),
  startsWith: valueThat((given) => typeof given === 'string', 'a text', ''),
  concerning: optional(parseTarget),
};
