import { parseDuration, type Duration } from './duration.ts';
import { PolicyError, shown } from './errors.ts';
import { checkOptions } from './options.ts';
import { DENIAL_AGE_MS } from './stores/denial-cache.ts';

/** How long and how many refused keys a limiter remembers, to refuse them without asking its store. */
export interface DenialCacheOptions {
  /**
   * How long at most this process goes on refusing a key for which another one has made room: by giving back, a reset, the
   * end of a block, another policy. Default `'1s'`.
   */
  maxAge?: Duration | undefined;
  /** Keys remembered at most, those that asked last. Some 300 bytes each. Default 10 000. */
  maxKeys?: number | undefined;
}

/** The same, checked. Ages go with the limits, which are asked for together with those of others. */
export interface DenialCacheSettings {
  readonly ageMs: number;
  readonly maxKeys: number;
}

const MAX_KEYS = 10_000;

/** @throws PolicyError for a bad option, `SLUICE_OPTION_INVALID`. */
export function parseDenialCache(given: boolean | DenialCacheOptions = true): DenialCacheSettings | undefined {
  if (given === false) return undefined;
  if (given === true) return { ageMs: DENIAL_AGE_MS, maxKeys: MAX_KEYS };
  if (typeof given !== 'object' || (given as unknown) === null) {
    throw new PolicyError(
      'denialCache',
      `denialCache must be true, false or { maxAge, maxKeys }, got ${shown(given)}`,
      'SLUICE_OPTION_INVALID',
    );
  }
  checkOptions(given, ['maxAge', 'maxKeys'], 'denialCache');
  const { maxAge = DENIAL_AGE_MS, maxKeys = MAX_KEYS } = given;
  if (!Number.isSafeInteger(maxKeys) || maxKeys < 1) {
    throw new PolicyError(
      'denialCache.maxKeys',
      `denialCache.maxKeys must be a whole number, at least 1, got ${shown(maxKeys)}`,
      'SLUICE_OPTION_INVALID',
    );
  }
  return { ageMs: parseDuration(maxAge, 'denialCache.maxAge', 'SLUICE_OPTION_INVALID'), maxKeys };
}
