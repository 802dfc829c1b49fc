import { parseDuration } from '@sluice/core/spi';
import { findMaker, newPolicy, type PolicyChoice } from './policies.ts';
import { PRESETS, drawPreset, type Preset, type Scale } from './presets.ts';
import type { Traffic } from './traffic.ts';

/** Who is limited. */
export const KEY_CHOICES = [
  { id: 'ip', title: 'Client address' },
  { id: 'user', title: 'User' },
  { id: 'api-key', title: 'API key' },
  { id: 'all', title: 'All clients together' },
] as const;

export const STORE_CHOICES = [
  { id: 'memory', title: 'Memory' },
  { id: 'redis', title: 'Redis' },
] as const;

/** Everything that a reader chooses, and a link contains. */
export interface Scenario {
  readonly policies: readonly PolicyChoice[];
  readonly traffic: Traffic;
  readonly key: (typeof KEY_CHOICES)[number]['id'];
  readonly store: (typeof STORE_CHOICES)[number]['id'];
  /** The id of a `HeaderChoice`. */
  readonly headers: string;
  /** The id of a `Framework`. */
  readonly framework: string;
  /** The client being painted and watched. */
  readonly client: number;
  /** The request that is shown, in the order of time. */
  readonly request: number | undefined;
}

/** The first scenario of the page: the recommended policy, and a burst. */
export function initialScenario(): Scenario {
  const policies = [newPolicy('slidingWindow')];
  return {
    policies,
    traffic: drawPreset(PRESETS[1] as Preset, readScale(policies, 1_000), 1_000),
    key: 'ip',
    store: 'memory',
    headers: 'draft-11',
    framework: 'express',
    client: 0,
    request: undefined,
  };
}

/** The scale of presets: that of the first policy, if its fields can be read. */
export function readScale(policies: readonly PolicyChoice[], runsMs: number): Scale {
  const { kind = '', values = {} } = policies[0] ?? {};
  const units = Number(values['capacity'] ?? values['limit']);
  // Slots become free when their requests end.
  const windowMs = kind === 'concurrency' ? runsMs : (readMs(values['window'] ?? values['every'] ?? '') ?? 10_000);
  const refill = Number(values['refill']);
  return {
    units: Number.isSafeInteger(units) && units > 0 ? Math.min(units, 1_000_000) : 10,
    // The time in which an empty bucket fills up.
    windowMs: findMaker(kind) === 'tokenBucket' && refill > 0 ? (windowMs * Math.max(units, 1)) / refill : windowMs,
  };
}

/** A duration in milliseconds; undefined for any other text. */
export function readMs(text: string): number | undefined {
  try {
    return parseDuration(text, 'window');
  } catch {
    return undefined;
  }
}
