const SECOND_MS = 1_000;
const DAY_MS: number = 86_400 * SECOND_MS;

/** The lengths of Envoy's units: a month is 30 days, a year 365. */
export const MS_OF_UNIT = {
  second: SECOND_MS,
  minute: 60 * SECOND_MS,
  hour: 3_600 * SECOND_MS,
  day: DAY_MS,
  week: 7 * DAY_MS,
  month: 30 * DAY_MS,
  year: 365 * DAY_MS,
} as const;
export type Unit = keyof typeof MS_OF_UNIT;
export const UNITS = Object.keys(MS_OF_UNIT) as readonly Unit[];

/**
 * Units by their numbers in `RateLimitResponse.RateLimit.Unit`; `envoy.type.v3.RateLimitUnit`, of requests, has no
 * week.
 */
export const UNIT_OF_NUMBER: readonly (Unit | 'unknown')[] = [
  ...(['unknown', 'second', 'minute', 'hour', 'day', 'month', 'year', 'week'] as const),
];
